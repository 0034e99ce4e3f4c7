//! The site made from documents, and the resolution of every node in it.
