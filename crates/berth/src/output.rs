//! What the user sees: data on standard output, everything else on standard error.

mod excerpt;
mod printer;
mod suggest;
mod table;
mod tree;
mod words;

pub(crate) use self::{
    excerpt::excerpts,
    printer::{Printer, Report},
    suggest::close_matches,
    table::Table,
    tree::Tree,
    words::{counted, printable},
};
