//! Tokens in a file that several processes use.

use std::{
    collections::HashMap,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use jiff::Timestamp;

use super::{
    CreatedToken, Denial, GRACE, NewToken, RoleGrant, Secret, Target, TokenError, TokenInfo, TokenScope, TokenState,
    TokenUse, Verdict,
    file::{self, Record, Stamp},
};

/// Seconds after which a token that opens nothing any more is forgotten: long enough to look up what happened.
const KEEP_DEAD: i64 = 30 * 86_400;

/// The tokens of one file.
///
/// Commands change the file while a server reads it: every question looks whether the file was replaced. Calls block
/// on the disk for a short time.
#[derive(Debug)]
pub struct TokenStore {
    path: PathBuf,
    loaded: RwLock<Loaded>,
}

#[derive(Clone, Debug, Default)]
struct Loaded {
    stamp: Option<Stamp>,
    tokens: Arc<HashMap<String, Record>>,
}

impl TokenStore {
    /// Opens the file; it need not exist yet.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TokenError> {
        let store = Self {
            path: path.into(),
            loaded: RwLock::default(),
        };
        store.tokens()?;
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a token. Tokens that have been dead for a month are forgotten on the way.
    pub fn create(&self, new: NewToken, now: Timestamp) -> Result<CreatedToken, TokenError> {
        let secret = Secret::generate().map_err(TokenError::Random)?;
        let info = TokenInfo {
            id: secret.id().to_owned(),
            scope: new.scope,
            created: now,
            expires: new.expires,
            single_use: new.single_use,
            comment: new.comment,
            used: None,
            revoked: None,
        };
        let id = info.id.clone();
        let record = Record::new(info, secret.hash());
        self.change(|tokens| {
            tokens.retain(|old| !is_long_dead(&old.info(), now));
            tokens.push(record);
            Ok(())
        })?;
        Ok(CreatedToken { id, secret })
    }

    /// All tokens, oldest first.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokenError> {
        let mut list: Vec<_> = self.tokens()?.values().map(Record::info).collect();
        list.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(list)
    }

    /// Takes a token back. Revoking twice changes nothing.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<TokenInfo, TokenError> {
        self.change(|tokens| {
            let record = tokens
                .iter_mut()
                .find(|record| record.id == id)
                .ok_or_else(|| TokenError::NoSuchToken { id: id.to_owned() })?;
            let mut info = record.info();
            info.revoked.get_or_insert(now);
            *record = Record::new(info.clone(), record.hash.clone());
            Ok(info)
        })
    }

    /// Whether a token opens a target to an address. Consumes nothing. Without the file nobody can say: a token that was made
    /// is not unknown because the file is gone.
    pub fn verify(&self, token: &str, target: Target<'_>, from: IpAddr, now: Timestamp) -> Result<Verdict, TokenError> {
        let tokens = self.tokens()?;
        if tokens.is_empty() && Stamp::of(&self.path)?.is_none() {
            return Err(TokenError::Gone {
                path: self.path.clone(),
            });
        }
        let Some(secret) = Secret::parse(token) else {
            return Ok(Verdict::Denied(Denial::Unknown));
        };
        Ok(match tokens.get(secret.id()) {
            Some(record) if secret.has_hash(&record.hash) => record.info().judge(target, from, now),
            _ => Verdict::Denied(Denial::Unknown),
        })
    }

    /// What a token may do in the API.
    pub fn role(&self, token: &str, now: Timestamp) -> Result<Result<RoleGrant, Denial>, TokenError> {
        let tokens = self.tokens()?;
        let record = Secret::parse(token).and_then(|secret| {
            let record = tokens.get(secret.id())?;
            secret.has_hash(&record.hash).then(|| record.info())
        });
        let Some(info) = record else {
            return Ok(Err(Denial::Unknown));
        };
        Ok(match (info.state(now), info.scope) {
            (TokenState::Revoked, _) => Err(Denial::Revoked),
            (TokenState::Expired, _) => Err(Denial::Expired),
            (TokenState::Used, _) => Err(Denial::Used),
            (TokenState::Valid, TokenScope::Role(role)) => Ok(RoleGrant {
                id: info.id,
                role,
                comment: info.comment,
            }),
            (TokenState::Valid, scope) => Err(Denial::OtherTarget { scope }),
        })
    }

    /// Uses up a token that was accepted before. Of many that try at once, one gets it. On return the use is on disk.
    pub fn consume(&self, id: &str, target: Target<'_>, from: IpAddr, now: Timestamp) -> Result<Verdict, TokenError> {
        self.change_if(|tokens| {
            // Between the question and now it may have been used, revoked or forgotten.
            let Some(record) = tokens.iter_mut().find(|record| record.id == id) else {
                return Ok((Verdict::Denied(Denial::Unknown), false));
            };
            let mut info = record.info();
            let verdict = info.judge(target, from, now);
            let is_first = matches!(verdict, Verdict::Granted(_)) && info.single_use && info.used.is_none();
            if is_first {
                info.used = Some(TokenUse {
                    at: now,
                    from: from.to_canonical(),
                    target: target.to_string(),
                });
                *record = Record::new(info, record.hash.clone());
            }
            Ok((verdict, is_first))
        })
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Vec<Record>) -> Result<T, TokenError>) -> Result<T, TokenError> {
        self.change_if(|tokens| Ok((edit(tokens)?, true)))
    }

    /// Edits the tokens as they are in the file now, with everyone else held off. The edit says whether there is
    /// anything to write.
    fn change_if<T>(
        &self,
        edit: impl FnOnce(&mut Vec<Record>) -> Result<(T, bool), TokenError>,
    ) -> Result<T, TokenError> {
        let _lock = file::lock(&self.path)?;
        let mut tokens = file::read(&self.path)?;
        let (outcome, is_changed) = edit(&mut tokens)?;
        if is_changed {
            file::write(&self.path, &tokens)?;
        }
        self.install(Stamp::of(&self.path)?, tokens);
        Ok(outcome)
    }

    /// The tokens as they are in the file now.
    fn tokens(&self) -> Result<Arc<HashMap<String, Record>>, TokenError> {
        // The stamp is taken before the content: should the file be replaced in between, the next call reads it again.
        let stamp = Stamp::of(&self.path)?;
        {
            let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
            if loaded.stamp == stamp {
                return Ok(Arc::clone(&loaded.tokens));
            }
        }
        Ok(self.install(stamp, file::read(&self.path)?))
    }

    fn install(&self, stamp: Option<Stamp>, tokens: Vec<Record>) -> Arc<HashMap<String, Record>> {
        let tokens: HashMap<_, _> = tokens.into_iter().map(|record| (record.id.clone(), record)).collect();
        let tokens = Arc::new(tokens);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Loaded {
            stamp,
            tokens: Arc::clone(&tokens),
        };
        tokens
    }
}

fn is_long_dead(info: &TokenInfo, now: Timestamp) -> bool {
    let used = info.used.as_ref().map(|used| used.at.as_second() + GRACE);
    let ends = [info.expires, info.revoked].map(|end| end.map(Timestamp::as_second));
    let mut ends = ends.into_iter().chain([used]).flatten();
    ends.any(|died| now.as_second() - died > KEEP_DEAD)
}
