//! Clients that must show a certificate.

use std::{path::Path, sync::Arc};

use berth_listen::{ListenError, ListenOptions, Server, TlsOptions};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;

use crate::support::{Demo, GET, Running};

/// A root, and certificates from it.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    fn issue(&self, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

async fn ask(server: &Running, roots: &Authority, own: Option<(String, String)>) -> std::io::Result<String> {
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut store = RootCertStore::empty();
    store.add(der(&roots.pem)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(store);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![der(&certificate)], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let stream = server.from(1).await;
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(GET.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn options(folder: &Path) -> TlsOptions {
    let local = "127.0.0.1:0".parse().unwrap();
    TlsOptions {
        client_ca: Some(folder.join("clients.crt")),
        ..TlsOptions::new(local, folder.join("tls.crt"), folder.join("tls.key"))
    }
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_given_roots_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let (servers, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    let (certificate, key) = servers.issue(ExtendedKeyUsagePurpose::ServerAuth);
    std::fs::write(folder.path().join("tls.crt"), certificate).unwrap();
    std::fs::write(folder.path().join("tls.key"), key).unwrap();
    std::fs::write(folder.path().join("clients.crt"), &clients.pem).unwrap();
    let server = Running::start(ListenOptions {
        tls: Some(options(folder.path())),
        ..ListenOptions::default()
    })
    .await;
    let good = clients.issue(ExtendedKeyUsagePurpose::ClientAuth);
    let answer = ask(&server, &servers, Some(good)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for bad in [
        None,
        Some(others.issue(ExtendedKeyUsagePurpose::ClientAuth)),
        Some(clients.issue(ExtendedKeyUsagePurpose::ServerAuth)),
    ] {
        let answer = ask(&server, &servers, bad).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    server.stop().await;

    for (text, expected) in [
        ("", "clients cannot be checked with"),
        ("-----BEGIN CERTIFICATE-----", "is not a certificate"),
    ] {
        std::fs::write(folder.path().join("clients.crt"), text).unwrap();
        let listen = ListenOptions {
            tls: Some(options(folder.path())),
            ..ListenOptions::default()
        };
        let error = Server::bind(listen, Demo).await.unwrap_err();
        let ListenError::Certificate(error) = error else {
            panic!("{error}")
        };
        assert!(error.to_string().contains(expected), "{error}");
    }
}
