//! Addresses of management controllers, read as Metal3 reads them.
//!
//! `berth lint` asks here for the nodes of a site and `berth ztp check` for the hosts of a hub, so both give the same answer.

mod url;

use std::{fmt, net::Ipv6Addr, str::FromStr};

use self::url::{Url, UrlError, is_host, is_host_with_port};

/// Drivers that are reached over HTTP: the scheme may end in `+http` or `+https`.
const HTTP_DRIVERS: &[&str] = &[
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
    "redfish",
    "redfish-uefihttp",
    "redfish-virtualmedia",
];

/// Drivers that are reached by IPMI.
const IPMI_DRIVERS: &[&str] = &["ipmi", "libvirt"];

/// The address of a management controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BmcAddress {
    /// The scheme in lower case, such as `redfish-virtualmedia+https`; `ipmi` where none is written.
    scheme: String,
    host: String,
    port: Option<String>,
    has_credentials: bool,
    /// It is an IPv6 address without brackets, which is taken because a port follows.
    is_bare: bool,
}

/// Why Metal3 refuses an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BmcAddressError {
    /// There is no driver for the scheme.
    Scheme(String),
    /// The host is neither a name nor an address.
    Host(String),
    /// What follows the host is not a port.
    Port(String),
    /// An IPv6 address without brackets.
    Brackets(String),
    /// A `%` that two hexadecimal digits do not follow.
    Escape(String),
    /// It cannot be read at all.
    Unreadable,
}

impl BmcAddressError {
    /// What would be right.
    pub fn help(&self) -> String {
        match self {
            Self::Scheme(_) => format!(
                "supported: {}, each also with +http or +https; {}",
                HTTP_DRIVERS.join(", "),
                IPMI_DRIVERS.join(", ")
            ),
            Self::Host(_) => "use a DNS name or an IP address".to_owned(),
            Self::Port(_) => "a port consists of digits".to_owned(),
            Self::Brackets(host) => format!("write [{host}]"),
            Self::Escape(_) => "write %25 for a percent sign".to_owned(),
            Self::Unreadable => "write it as redfish-virtualmedia+https://HOST/redfish/v1/Systems/1".to_owned(),
        }
    }
}

impl fmt::Display for BmcAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme(scheme) => write!(f, "unknown BMC type `{scheme}`"),
            Self::Host(host) => write!(f, "BMC host `{host}` is invalid"),
            Self::Port(port) => write!(f, "invalid BMC port `{port}`"),
            Self::Brackets(host) => write!(f, "the IPv6 address `{host}` of the BMC needs brackets"),
            Self::Escape(text) => write!(f, "invalid URL escape `{text}` in the BMC address"),
            Self::Unreadable => f.write_str("the BMC address cannot be parsed"),
        }
    }
}

impl std::error::Error for BmcAddressError {}

impl BmcAddress {
    /// The scheme, such as `redfish-virtualmedia+https`.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host without brackets; empty where none is written.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; none where none is written.
    pub fn port(&self) -> Option<&str> {
        self.port.as_deref()
    }

    /// Whether a user name or password is part of it.
    pub fn has_credentials(&self) -> bool {
        self.has_credentials
    }

    /// The driver: the scheme without `+http` or `+https`.
    pub fn driver(&self) -> &str {
        self.scheme.split_once('+').map_or(&*self.scheme, |(driver, _)| driver)
    }

    /// Whether the driver can switch secure boot, set up RAID and inspect without booting.
    pub fn is_redfish(&self) -> bool {
        !IPMI_DRIVERS.contains(&self.driver())
    }

    /// Whether the driver needs the boot MAC address before the host is inspected.
    pub fn needs_mac(&self) -> bool {
        self.driver() == "libvirt"
    }

    /// What Metal3 accepts although it cannot work.
    pub fn unusable(&self) -> Option<String> {
        if self.host.is_empty() {
            return Some("it has no host".to_owned());
        }
        if self.is_bare {
            return Some(format!("the IPv6 address `{}` needs brackets", self.host));
        }
        let port = self.port.as_deref()?;
        let usable = port.parse::<u16>().is_ok_and(|port| port != 0);
        (!usable && !port.is_empty()).then(|| format!("`{port}` is not a port from 1 to 65535"))
    }
}

impl FromStr for BmcAddress {
    type Err = BmcAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(BmcAddressError::Unreadable);
        }
        let url = read(text)?;
        let (host, port) = url.host_and_port();
        if !host.is_empty() && !is_host(host) {
            // The last part of an address without brackets looks like a port.
            let without = [&*url.authority, host]
                .into_iter()
                .find(|text| text.parse::<Ipv6Addr>().is_ok());
            return Err(match without {
                Some(address) => BmcAddressError::Brackets(address.to_owned()),
                None => BmcAddressError::Host(host.to_owned()),
            });
        }
        let known = HTTP_DRIVERS.iter().any(|driver| {
            let rest = url.scheme.strip_prefix(driver);
            rest.is_some_and(|rest| matches!(rest, "" | "+http" | "+https"))
        });
        if !known && !IPMI_DRIVERS.contains(&&*url.scheme) {
            // An IPv6 address that begins with a letter looks like a scheme.
            return Err(match text.parse::<Ipv6Addr>() {
                Ok(_) => BmcAddressError::Brackets(text.to_owned()),
                Err(_) => BmcAddressError::Scheme(url.scheme),
            });
        }
        let bare = host.contains(':') && !url.authority.starts_with('[');
        Ok(Self {
            host: host.to_owned(),
            port: port.map(str::to_owned),
            has_credentials: url.has_credentials,
            is_bare: bare,
            scheme: url.scheme,
        })
    }
}

/// The URL that Metal3 makes of an address. Without a scheme it is a host for IPMI, and `ipmi:10.0.0.1` is read as `ipmi://10.0.0.1`.
fn read(text: &str) -> Result<Url, BmcAddressError> {
    let unreadable = |error: UrlError| match error {
        UrlError::Escape(text) => BmcAddressError::Escape(text),
        UrlError::Port(port) => BmcAddressError::Port(port),
        UrlError::Host(host) => BmcAddressError::Host(host),
        UrlError::Unreadable if text.parse::<Ipv6Addr>().is_ok() => BmcAddressError::Brackets(text.to_owned()),
        UrlError::Unreadable => BmcAddressError::Unreadable,
    };
    let url = match Url::parse(text) {
        Ok(url) => url,
        // `10.0.0.1:623` is not a URL.
        Err(UrlError::Unreadable) if is_host_with_port(text) => {
            return Ok(Url {
                scheme: "ipmi".to_owned(),
                authority: text.to_owned(),
                ..Url::default()
            });
        }
        Err(error) => return Err(unreadable(error)),
    };
    if url.opaque {
        return Url::parse(&text.replacen(':', "://", 1)).map_err(unreadable);
    }
    if url.scheme.is_empty() && url.host_and_port().0.is_empty() {
        return Url::parse(&format!("ipmi://{text}")).map_err(unreadable);
    }
    Ok(url)
}

/// Whether a text is a MAC address that a host can boot from: pairs of hexadecimal digits with colons, six of them for Ethernet,
/// eight or twenty for InfiniBand.
pub fn is_boot_mac(text: &str) -> bool {
    let pairs = text.split(':').count();
    matches!(pairs, 6 | 8 | 20)
        && text
            .split(':')
            .all(|pair| pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Why Metal3 refuses the device name of a root device hint.
pub fn root_device_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let Some(path) = name.strip_prefix("/dev/") else {
        return Some(format!("`{name}` is not a path below /dev/"));
    };
    let path = path.strip_prefix("disk/by-path/").unwrap_or(path);
    path.contains('/')
        .then(|| format!("`{name}` is neither in /dev/ nor in /dev/disk/by-path/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_metal3_accepts() {
        for (text, scheme, host, port) in [
            (
                "libvirt://192.168.122.1:6233/?abc=def",
                "libvirt",
                "192.168.122.1",
                Some("6233"),
            ),
            ("192.168.122.1", "ipmi", "192.168.122.1", None),
            ("192.168.122.1:6233", "ipmi", "192.168.122.1", Some("6233")),
            ("my.favoritebmc.example", "ipmi", "my.favoritebmc.example", None),
            (
                "[fe80::fc33:62ff:fe83:8a76]:6233",
                "ipmi",
                "fe80::fc33:62ff:fe83:8a76",
                Some("6233"),
            ),
            ("ipmi:192.168.122.1:6233", "ipmi", "192.168.122.1", Some("6233")),
            ("redfish:192.168.122.1", "redfish", "192.168.122.1", None),
            ("Redfish+HTTPS://h/redfish/v1", "redfish+https", "h", None),
            (
                "redfish-virtualmedia+http://[fd00::1]:8443/redfish/v1/Systems/1",
                "redfish-virtualmedia+http",
                "fd00::1",
                Some("8443"),
            ),
            (
                "idrac-virtualmedia+https://h/redfish/v1/Systems/System.Embedded.1",
                "idrac-virtualmedia+https",
                "h",
                None,
            ),
            ("redfish-uefihttp://10.0.0.1/x", "redfish-uefihttp", "10.0.0.1", None),
        ] {
            let read: BmcAddress = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (read.scheme(), read.host(), read.port.as_deref()),
                (scheme, host, port),
                "{text}"
            );
            assert_eq!(read.unusable(), None, "{text}");
        }
    }

    #[test]
    fn addresses_that_metal3_refuses() {
        let host = |text: &str| BmcAddressError::Host(text.to_owned());
        let scheme = |text: &str| BmcAddressError::Scheme(text.to_owned());
        for (text, error) in [
            ("", BmcAddressError::Unreadable),
            ("test:127.0.1.1", scheme("test")),
            ("https://10.0.0.1/redfish/v1", scheme("https")),
            ("ipmi+https://10.0.0.1", scheme("ipmi+https")),
            ("redfish+ftp://10.0.0.1", scheme("redfish+ftp")),
            ("ipm:host.example.com:6223", scheme("ipm")),
            ("ipmi://-host.example.com", host("-host.example.com")),
            ("ipmi://host+1.example.com", host("host+1.example.com")),
            ("my-.example.com", host("my-.example.com")),
            (
                "ipmi://[fe80::fc33:62ff:fe33:8xff]:6223",
                host("[fe80::fc33:62ff:fe33:8xff]"),
            ),
            ("redfish://[10.0.0.1]/x", host("[10.0.0.1]")),
            ("redfish://fd00::1/x", BmcAddressError::Brackets("fd00::1".to_owned())),
            ("[fe80::1]", BmcAddressError::Unreadable),
            ("[@]host.example.com", BmcAddressError::Unreadable),
            ("redfish://10.0.0.1:https/x", BmcAddressError::Port("https".to_owned())),
            ("redfish://[fd00::1]8443/x", BmcAddressError::Port("8443".to_owned())),
            ("redfish://10.0.0.1 /x", host("10.0.0.1 ")),
            ("redfish://a_b/x", host("a_b")),
            ("10.0.0.1:ipmi", host("10.0.0.1:ipmi")),
            ("redfish://[fe80::1%25eth0]/x", host("[fe80::1%25eth0]")),
            ("redfish://h/%zz", BmcAddressError::Escape("%zz".to_owned())),
            ("redfish://u%zz@h/", BmcAddressError::Escape("%zz".to_owned())),
        ] {
            assert_eq!(text.parse::<BmcAddress>(), Err(error), "{text}");
        }
    }

    #[test]
    fn addresses_that_are_accepted_and_cannot_work() {
        for text in [
            "redfish:///redfish/v1",
            "redfish://10.0.0.1:99999/x",
            "redfish://10.0.0.1:0/x",
            "redfish://fd00::1:443/x",
        ] {
            let read: BmcAddress = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(read.unusable().is_some(), "{text}");
        }
    }

    #[test]
    fn boot_macs_and_root_devices() {
        for (text, good) in [
            ("52:54:00:12:34:56", true),
            ("AA:bb:cc:dd:ee:ff", true),
            ("00:11:22:33:44:55:66:77", true),
            ("52:54:00:12:34", false),
            ("52-54-00-12-34-56", false),
            ("525400123456", false),
            ("52:54:00:12:34:5g", false),
        ] {
            assert_eq!(is_boot_mac(text), good, "{text}");
        }
        for (text, good) in [
            ("/dev/sda", true),
            ("/dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:0:0", true),
            ("", true),
            ("sda", false),
            ("/dev/disk/by-id/wwn-0x5000", false),
            ("/dev/mapper/root", false),
        ] {
            assert_eq!(root_device_problem(text).is_none(), good, "{text}");
        }
    }
}
