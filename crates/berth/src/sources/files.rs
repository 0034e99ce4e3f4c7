//! Files and folders as a source.

use std::{borrow::Cow, io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use berth_documents::DocumentSet;
use berth_repository::SiteDocuments;

use super::{LOOK_EVERY, Reading, Source, name_of, on_a_thread};
use crate::{
    failure::Failure,
    input::{self, Fingerprint},
};

/// The documents below some paths.
#[derive(Debug)]
pub(crate) struct Files {
    paths: Arc<[PathBuf]>,
    /// The files as they were before they were read last.
    seen: Option<Fingerprint>,
}

impl Files {
    /// A source that has not been looked at yet.
    pub(crate) fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        if paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::Argument {
                message: "documents that are followed cannot come from standard input".to_owned(),
                hint: Some("name a file or a folder".to_owned()),
            });
        }
        Ok(Self {
            paths: paths.into(),
            seen: None,
        })
    }

    /// Reads the files now, where nobody is held up by it.
    pub(crate) fn read(&mut self) -> Result<Reading<SiteDocuments>, Failure> {
        // Taken before the files are read: what changes in between is seen at the next look.
        self.seen = Some(Fingerprint::of(&self.paths));
        read(&self.paths)
    }
}

#[async_trait]
impl Source for Files {
    type Content = SiteDocuments;

    async fn changed(&mut self) {
        tokio::time::sleep(LOOK_EVERY).await;
    }

    async fn look(&mut self) -> Result<Option<Reading<SiteDocuments>>, Failure> {
        let (paths, seen) = (Arc::clone(&self.paths), self.seen.take());
        let (now, read) = on_a_thread(move || {
            let now = Fingerprint::of(&paths);
            let read = (seen.as_ref() != Some(&now)).then(|| read(&paths));
            (now, read)
        })
        .await;
        self.seen = Some(now);
        read.transpose()
    }
}

fn read(paths: &[PathBuf]) -> Result<Reading<SiteDocuments>, Failure> {
    let texts = input::read_text(paths, &mut io::empty()).map_err(Failure::Input)?;
    // Equal files have an equal name, wherever the folder lies.
    let parts = texts.iter().flat_map(|(name, text)| {
        let name = name.rsplit('/').next().unwrap_or(name);
        [Cow::Borrowed(name), Cow::Borrowed(text.as_str())]
    });
    Ok(Reading::Version {
        name: name_of("files", parts),
        content: texts.into_iter().collect::<DocumentSet>().into(),
    })
}
