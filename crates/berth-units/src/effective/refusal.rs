//! Why systemd would not start a unit.

use crate::diagnostic::Place;

/// Why systemd would not start a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitRefusal {
    /// There is no fragment.
    #[error("there is no such unit")]
    NotFound,
    /// The unit is masked.
    #[error("the unit is masked")]
    Masked,
    /// systemd stops in the middle of the fragment.
    #[error("{path}:{line}: {message}")]
    Broken {
        /// The fragment.
        path: String,
        /// The line where systemd stops.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// No command is left after all resets.
    #[error("the unit has no ExecStart=")]
    NoExecStart,
    /// Several commands are allowed for `Type=oneshot` only.
    #[error(
        "the unit has more than one ExecStart= ({}), which systemd allows for Type=oneshot only and refuses for \
         Type={service_type}", list_places(.places)
    )]
    SeveralExecStart {
        /// The type that the unit has.
        service_type: String,
        /// Where the commands stand.
        places: Vec<Place>,
    },
}

fn list_places(places: &[Place]) -> String {
    let texts: Vec<_> = places
        .iter()
        .map(|place| format!("{}:{}", place.path, place.line))
        .collect();
    texts.join(", ")
}
