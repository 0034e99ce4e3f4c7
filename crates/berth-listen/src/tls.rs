//! Certificates that are replaced while the server runs.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    server::{ClientHello, ResolvesServerCert, VerifierBuilderError, WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is not {what} in PEM", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        #[source]
        source: pem::Error,
    },
    /// The key is of a kind that is not supported, or does not belong to the certificate.
    #[error("the certificate in {} cannot be used with the key in {}", .certificate.display(), .key.display())]
    Pair {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// The roots of clients' certificates cannot be used.
    #[error("clients cannot be checked with the certificates in {}", .path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: VerifierBuilderError,
    },
    /// TLS cannot be set up at all.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

/// A certificate and its key in two files, followed when they change.
///
/// The contents are compared, not times or names, so that a swapped symbolic link (as in a mounted Kubernetes secret)
/// counts and a touched file does not. What cannot be used leaves the one before in place: in the middle of a rotation
/// the key may be newer than the certificate.
pub struct ReloadingCertificate {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<CertifiedKey>,
    /// The contents seen last, good or bad, so that a bad pair is told once.
    seen: Mutex<Digest256>,
}

type Digest256 = [u8; 32];

impl fmt::Debug for ReloadingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingCertificate")
            .field("certificate", &self.certificate)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl ReloadingCertificate {
    /// Reads the two files for the first time.
    pub fn load(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Arc<Self>, CertificateError> {
        let (certificate, key) = (certificate.into(), key.into());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pair = Pair::read(&certificate, &key)?;
        let current = pair.certified(&certificate, &key, &provider)?;
        Ok(Arc::new(Self {
            provider,
            current: ArcSwap::from_pointee(current),
            seen: Mutex::new(pair.digest()),
            certificate,
            key,
        }))
    }

    /// Looks at the files again. True if there is a new certificate; connections from now on get it.
    pub fn refresh(&self) -> Result<bool, CertificateError> {
        let pair = Pair::read(&self.certificate, &self.key)?;
        let digest = pair.digest();
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if *seen == digest {
                return Ok(false);
            }
            *seen = digest;
        }
        let certified = pair.certified(&self.certificate, &self.key, &self.provider)?;
        self.current.store(Arc::new(certified));
        Ok(true)
    }

    /// Looks at the files again and again, forever.
    pub(crate) async fn follow(self: Arc<Self>, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // A file that is gone is told once, not at every look.
        let mut could_read = true;
        loop {
            ticks.tick().await;
            let this = Arc::clone(&self);
            let refreshed = match tokio::task::spawn_blocking(move || this.refresh()).await {
                Ok(refreshed) => refreshed,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime ends.
                    Err(_) => return,
                },
            };
            match refreshed {
                Ok(true) => {
                    tracing::info!(certificate = %self.certificate.display(), "certificate replaced");
                    could_read = true;
                }
                Ok(false) => could_read = true,
                Err(error) => {
                    let is_read_error = matches!(error, CertificateError::Read { .. });
                    if could_read || !is_read_error {
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(error, "the new certificate cannot be used; the old one stays");
                    }
                    could_read = !is_read_error;
                }
            }
        }
    }

    /// TLS 1.2 and 1.3 with this certificate, HTTP/1.1 only; for clients with a certificate of these roots, where some are given.
    pub(crate) fn server_config(self: &Arc<Self>, client_ca: Option<&Path>) -> Result<ServerConfig, CertificateError> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Tls)?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => builder.with_client_cert_verifier(self.client_verifier(path)?),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn client_verifier(&self, path: &Path) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
        let refuse = |source| CertificateError::Pem {
            path: path.to_owned(),
            what: "a certificate",
            source,
        };
        let text = read(path)?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            roots.add(certificate.map_err(refuse)?).map_err(CertificateError::Tls)?;
        }
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
            .build()
            .map_err(|source| CertificateError::ClientCa {
                path: path.to_owned(),
                source,
            })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| CertificateError::Read {
        path: path.to_owned(),
        source,
    })
}

impl ResolvesServerCert for ReloadingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

/// The contents of the two files.
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        Ok(Self {
            certificate: read(certificate)?,
            key: read(key)?,
        })
    }

    fn digest(&self) -> Digest256 {
        let mut hash = Sha256::new();
        hash.update(Sha256::digest(&self.certificate));
        hash.update(Sha256::digest(&self.key));
        hash.finalize().into()
    }

    fn certified(
        &self,
        certificate: &Path,
        key: &Path,
        provider: &CryptoProvider,
    ) -> Result<CertifiedKey, CertificateError> {
        let refuse = |path: &Path, what, source| CertificateError::Pem {
            path: path.to_owned(),
            what,
            source,
        };
        let mut chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| refuse(certificate, "a certificate", source))?;
        if chain.is_empty() {
            return Err(refuse(certificate, "a certificate", pem::Error::NoItemsFound));
        }
        chain.shrink_to_fit();
        let private =
            PrivateKeyDer::from_pem_slice(&self.key).map_err(|source| refuse(key, "a private key", source))?;
        CertifiedKey::from_der(chain, private, provider).map_err(|source| CertificateError::Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })
    }
}

#[cfg(test)]
mod tests;
