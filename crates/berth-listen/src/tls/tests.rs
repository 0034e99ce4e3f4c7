use super::*;

/// A certificate for `localhost` and its key.
fn pair() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn served(certificate: &ReloadingCertificate) -> Vec<u8> {
    certificate.current.load().cert[0].to_vec()
}

#[test]
fn a_new_pair_replaces_the_old_one_and_a_bad_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let (first, second) = (pair(), pair());
    fs::write(&cert, &first.0).unwrap();
    fs::write(&key, &first.1).unwrap();
    let certificate = ReloadingCertificate::load(&cert, &key).unwrap();
    let original = served(&certificate);
    assert!(!certificate.refresh().unwrap());

    // In the middle of a rotation the two do not belong together.
    fs::write(&cert, &second.0).unwrap();
    let error = certificate.refresh().unwrap_err();
    assert!(matches!(error, CertificateError::Pair { .. }), "{error:?}");
    assert_eq!(served(&certificate), original);
    assert!(!certificate.refresh().unwrap(), "the same bad pair is told once");
    for (text, expected) in [
        ("", "is not a certificate in PEM"),
        ("garbage", "is not a certificate in PEM"),
    ] {
        fs::write(&cert, text).unwrap();
        let error = certificate.refresh().unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    fs::remove_file(&cert).unwrap();
    assert!(matches!(
        certificate.refresh().unwrap_err(),
        CertificateError::Read { .. }
    ));
    assert_eq!(served(&certificate), original);

    fs::write(&cert, &second.0).unwrap();
    fs::write(&key, &second.1).unwrap();
    assert!(certificate.refresh().unwrap());
    assert_ne!(served(&certificate), original);
    assert!(!certificate.refresh().unwrap());
}

#[test]
fn a_swapped_symbolic_link_counts() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let (cert, key) = pair();
        let inside = folder.path().join(name);
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("tls.crt"), cert).unwrap();
        fs::write(inside.join("tls.key"), key).unwrap();
    }
    let data = folder.path().join("data");
    std::os::unix::fs::symlink("one", &data).unwrap();
    let certificate = ReloadingCertificate::load(data.join("tls.crt"), data.join("tls.key")).unwrap();
    let original = served(&certificate);
    let new = folder.path().join("new");
    std::os::unix::fs::symlink("two", &new).unwrap();
    fs::rename(&new, &data).unwrap();
    assert!(certificate.refresh().unwrap());
    assert_ne!(served(&certificate), original);
}

#[test]
fn what_cannot_be_used_at_the_start_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let error = ReloadingCertificate::load(&cert, &key).unwrap_err().to_string();
    assert!(error.starts_with("cannot read "), "{error}");
    fs::write(&cert, pair().0).unwrap();
    fs::write(&key, "no key").unwrap();
    let error = ReloadingCertificate::load(&cert, &key).unwrap_err().to_string();
    assert!(error.ends_with("is not a private key in PEM"), "{error}");
}
