//! Reading of `-f PATH`.
//!
//! The order is stable, so that the same folder gives the same output on every machine: paths in the order they were
//! given, and inside a folder by the bytes of the relative path.

mod fingerprint;

use std::{
    collections::BTreeSet,
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

use berth_documents::{DecodeError, DocumentSet, decode};
use thiserror::Error;

pub(crate) use self::fingerprint::Fingerprint;
use crate::failure::Failure;

/// The name under which standard input appears in findings.
pub(crate) const STDIN_NAME: &str = "<stdin>";

const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];

/// How configurations of load balancers end.
pub(crate) const CONFIGURATION: &str = "cfg";

/// One file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// The path as the user wrote it, extended below a folder.
    pub(crate) name: String,
    /// The content, or why it is not text. Whether that ends the run is for the command to say: `berth lint` reports it
    /// among the other mistakes.
    pub(crate) text: Result<String, DecodeError>,
}

/// Why a path could not be read.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    /// Nothing is there.
    #[error("no such file or folder: `{0}`")]
    Missing(String),
    /// The system refused.
    #[error("cannot read `{path}`")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Documents are text.
    #[error("`{path}` is not text")]
    NotText {
        /// The path.
        path: String,
        /// Which byte is wrong.
        #[source]
        source: DecodeError,
    },
    /// A folder in which nothing is taken for a document.
    #[error("no documents in folder `{0}`: files must end in .yaml, .yml or .json")]
    EmptyFolder(String),
}

/// Reads all paths; every path that fails is reported, not only the first.
///
/// A file that is reached twice is read once: two copies of a document would be reported as duplicates.
pub(crate) fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Vec<InputFile>, Vec<InputError>> {
    read_files(paths, stdin, EXTENSIONS)
}

fn read_files(
    paths: &[PathBuf],
    stdin: &mut dyn Read,
    extensions: &'static [&'static str],
) -> Result<Vec<InputFile>, Vec<InputError>> {
    let mut reader = Reader {
        stdin,
        extensions,
        stdin_read: false,
        seen: BTreeSet::new(),
        files: Vec::new(),
        errors: Vec::new(),
    };
    for path in paths {
        reader.path(path);
    }
    if reader.errors.is_empty() {
        Ok(reader.files)
    } else {
        Err(reader.errors)
    }
}

/// Reads the documents of all paths, and accepts nothing but text.
pub(crate) fn read_documents(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<DocumentSet, Failure> {
    let texts = read_text(paths, stdin).map_err(Failure::Input)?;
    Ok(texts.into_iter().collect())
}

/// Reads all paths and accepts nothing but text.
pub(crate) fn read_text(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Vec<(String, String)>, Vec<InputError>> {
    only_text(read(paths, stdin)?)
}

/// The same with the configurations of load balancers in folders.
pub(crate) fn read_with_configurations(
    paths: &[PathBuf],
    stdin: &mut dyn Read,
) -> Result<Vec<(String, String)>, Vec<InputError>> {
    only_text(read_files(paths, stdin, &["yaml", "yml", "json", CONFIGURATION])?)
}

fn only_text(files: Vec<InputFile>) -> Result<Vec<(String, String)>, Vec<InputError>> {
    let (mut texts, mut errors) = (Vec::new(), Vec::new());
    for InputFile { name, text } in files {
        match text {
            Ok(text) => texts.push((name, text)),
            Err(source) => errors.push(InputError::NotText { path: name, source }),
        }
    }
    if errors.is_empty() { Ok(texts) } else { Err(errors) }
}

struct Reader<'a> {
    stdin: &'a mut dyn Read,
    /// How the files end that are read in folders.
    extensions: &'static [&'static str],
    stdin_read: bool,
    /// Canonical paths of what was read. Folders are here too, which ends symlink loops.
    seen: BTreeSet<PathBuf>,
    files: Vec<InputFile>,
    errors: Vec<InputError>,
}

impl Reader<'_> {
    fn path(&mut self, path: &Path) {
        if path.as_os_str() == "-" {
            self.standard_input();
            return;
        }
        match fs::metadata(path) {
            Err(error) => self.errors.push(unreadable(path, error)),
            Ok(metadata) if metadata.is_dir() => self.folder(path),
            Ok(_) => self.file(path),
        }
    }

    fn standard_input(&mut self) {
        if self.stdin_read {
            return;
        }
        self.stdin_read = true;
        let mut bytes = Vec::new();
        match self.stdin.read_to_end(&mut bytes) {
            Ok(_) => self.bytes(STDIN_NAME.to_owned(), &bytes),
            Err(source) => self.errors.push(InputError::Unreadable {
                path: STDIN_NAME.to_owned(),
                source,
            }),
        }
    }

    fn file(&mut self, path: &Path) {
        if !self.first_time(path) {
            return;
        }
        match fs::read(path) {
            Ok(bytes) => self.bytes(display(path), &bytes),
            Err(error) => self.errors.push(unreadable(path, error)),
        }
    }

    fn bytes(&mut self, name: String, bytes: &[u8]) {
        self.files.push(InputFile {
            name,
            text: decode(bytes),
        });
    }

    fn folder(&mut self, folder: &Path) {
        if !self.first_time(folder) {
            return;
        }
        let mut found = Vec::new();
        let errors_before = self.errors.len();
        self.walk(folder, &mut found);
        if found.is_empty() && self.errors.len() == errors_before {
            self.errors.push(InputError::EmptyFolder(display(folder)));
        }
        // All paths share the folder as prefix, so this is the order of the relative paths.
        found.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
        for path in found {
            self.file(&path);
        }
    }

    fn walk(&mut self, folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => {
                self.errors.push(unreadable(folder, error));
                return;
            }
        };
        let mut paths: Vec<_> = entries
            .iter()
            .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
            .map(|entry| {
                let symlink = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                (symlink, entry.path())
            })
            .collect();
        // Real folders before links, so that files keep their real names in findings.
        paths.sort();
        for (_, path) in paths {
            match fs::metadata(&path) {
                Err(error) => self.errors.push(unreadable(&path, error)),
                Ok(metadata) if metadata.is_dir() => {
                    if self.first_time(&path) {
                        self.walk(&path, found);
                    }
                }
                Ok(metadata) if metadata.is_file() && self.is_wanted(&path) => found.push(path),
                Ok(_) => {}
            }
        }
    }

    fn is_wanted(&self, path: &Path) -> bool {
        let extension = path.extension();
        extension.is_some_and(|extension| self.extensions.iter().any(|known| extension == *known))
    }

    /// Whether the path was not met before. A path that cannot be made canonical is read, and fails there.
    fn first_time(&mut self, path: &Path) -> bool {
        match fs::canonicalize(path) {
            Ok(canonical) => self.seen.insert(canonical),
            Err(_) => true,
        }
    }
}

fn unreadable(path: &Path, error: io::Error) -> InputError {
    if error.kind() == io::ErrorKind::NotFound {
        InputError::Missing(display(path))
    } else {
        InputError::Unreadable {
            path: display(path),
            source: error,
        }
    }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
