//! Rows of the database, in the form that both back ends share.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::deckhand::Identity;
use serde_json::Value;

use crate::{
    body::{self, Digest},
    document::{StoredData, StoredDocument},
    error::Error,
    revision::Revision,
    sealing::{KeyId, Opened, SealingKeys},
};

/// The beginning of the statements that read versions: the columns of a [`VersionRow`], in the order in which they are read.
macro_rules! version_columns {
    () => {
        "SELECT v.id, v.schema, v.layer, v.name, v.bucket, v.revision, v.valid_from, d.digest, m.digest, d.sealed_with"
    };
}
pub(crate) use version_columns;

/// A row of `versions` without its bodies.
#[derive(Clone, Debug)]
pub(crate) struct VersionRow {
    pub(crate) id: i64,
    pub(crate) identity: Arc<Identity>,
    pub(crate) bucket: String,
    /// The revision that is shown as the document's.
    pub(crate) revision: i64,
    /// The first revision that has this row.
    pub(crate) valid_from: i64,
    pub(crate) data: Digest,
    pub(crate) metadata: Digest,
    pub(crate) sealed_with: Option<KeyId>,
}

/// A row with its bodies.
#[derive(Debug)]
pub(crate) struct DocumentRow {
    pub(crate) version: VersionRow,
    pub(crate) data: Vec<u8>,
    pub(crate) metadata: Vec<u8>,
}

impl DocumentRow {
    pub(crate) fn into_document(self, keys: &SealingKeys) -> Result<StoredDocument, Error> {
        let Self {
            version,
            data,
            metadata,
        } = self;
        let data = match &version.sealed_with {
            None => StoredData::Open(body::read(&data)?, version.data),
            Some(key) => match keys.open(&version.identity, key, version.data, &data)? {
                Opened::Content(content) => StoredData::Open(body::read(&content)?, Digest::of_content(&content)),
                Opened::NoKey => StoredData::Sealed(key.clone()),
            },
        };
        Ok(StoredDocument {
            bucket: version.bucket,
            revision: number(version.revision)?,
            metadata: body::read(&metadata)?,
            metadata_hash: version.metadata,
            identity: version.identity,
            data,
        })
    }
}

/// Reads rows in the order in which they were written.
pub(crate) fn documents(mut rows: Vec<DocumentRow>, keys: &SealingKeys) -> Result<Vec<StoredDocument>, Error> {
    rows.sort_unstable_by_key(|row| row.version.id);
    rows.into_iter().map(|row| row.into_document(keys)).collect()
}

/// The number of a revision from a column.
pub(crate) fn number(column: i64) -> Result<u64, Error> {
    u64::try_from(column).map_err(|_| Error::damaged(format!("{column} is not a number of a revision")))
}

/// The number of a revision for a column. Numbers too large for it belong to no revision.
pub(crate) fn revision_column(revision: u64) -> Result<i64, Error> {
    i64::try_from(revision).map_err(|_| Error::RevisionNotFound { revision })
}

/// A column that is not as the schema has it.
pub(crate) fn column(error: sqlx::Error) -> Error {
    Error::database("reading a column")(error)
}

/// JSON out of a column.
pub(crate) fn json(text: &str) -> Result<Value, Error> {
    body::read(text.as_bytes())
}

/// The list of buckets as it is stored with a revision.
pub(crate) fn buckets_column<'a>(buckets: impl IntoIterator<Item = &'a String>) -> String {
    let names: Value = buckets.into_iter().map(String::as_str).collect();
    names.to_string()
}

/// A revision from its columns, as yet without tags.
pub(crate) fn revision(id: i64, created_at: i64, buckets: &str) -> Result<Revision, Error> {
    let Value::Array(names) = json(buckets)? else {
        return Err(Error::damaged(format!("the buckets of revision {id} are not a list")));
    };
    Ok(Revision {
        id: number(id)?,
        created_at,
        tags: BTreeMap::new(),
        buckets: names
            .into_iter()
            .filter_map(|name| name.as_str().map(ToOwned::to_owned))
            .collect(),
    })
}
