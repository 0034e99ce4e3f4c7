//! The certificate authority of one control plane, and who can be with it.

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::TestingError;

/// Someone whom the API server knows by a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    user: String,
    group: Option<String>,
}

impl Identity {
    /// May do everything.
    pub fn admin() -> Self {
        Self::new("berth-test-admin", Some("system:masters"))
    }

    /// A kubelet: `system:node:NAME` in `system:nodes`, as the Node authorizer and `NodeRestriction` want it.
    pub fn kubelet(node: &str) -> Self {
        Self::new(&format!("system:node:{node}"), Some("system:nodes"))
    }

    /// Anyone. What they may do is up to RBAC.
    pub fn new(user: &str, group: Option<&str>) -> Self {
        Self {
            user: user.to_owned(),
            group: group.map(str::to_owned),
        }
    }

    /// The user's name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The group that the user is in.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }
}

/// A certificate with its key, both PEM.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Signs for one control plane, servers and clients alike.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, TestingError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "berth-test-ca");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;
        Ok(Self { issuer })
    }

    pub(crate) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for servers on the loopback interface, and for the names and addresses given.
    pub(crate) fn server(&self, names: &[String]) -> Result<Certificate, TestingError> {
        let mut all = vec![
            "localhost".to_owned(),
            "kubernetes.default.svc".to_owned(),
            IpAddr::from(Ipv4Addr::LOCALHOST).to_string(),
            // The first address of the service network is the API server's own.
            "10.0.0.1".to_owned(),
        ];
        all.extend_from_slice(names);
        let mut parameters = CertificateParams::new(all)?;
        parameters.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        self.sign(parameters, ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self, identity: &Identity) -> Result<Certificate, TestingError> {
        let mut parameters = CertificateParams::default();
        parameters
            .distinguished_name
            .push(DnType::CommonName, identity.user.as_str());
        if let Some(group) = &identity.group {
            parameters
                .distinguished_name
                .push(DnType::OrganizationName, group.as_str());
        }
        self.sign(parameters, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut parameters: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Certificate, TestingError> {
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &self.issuer)?;
        Ok(Certificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}
