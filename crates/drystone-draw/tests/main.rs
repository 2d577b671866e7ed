//! Tests of pictures, in one executable.

mod draw;
mod framing;
mod layers;
