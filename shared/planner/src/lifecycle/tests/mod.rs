//! A NodeClaim's life in tables, and in a small world where anything may be cut off.

mod classes;
mod drain;
mod kit;
mod launch;
mod offers;
mod registration;
mod stamping;
mod surge;
mod sweep;
mod termination;
mod world;
mod worlds;
