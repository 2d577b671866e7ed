//! What a world looks like from outside.
