//! Ignition configs: model, validation, merge, translation.
