//! The scene file, version 1.
