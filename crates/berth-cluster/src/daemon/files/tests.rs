use std::fs;

use super::*;

const PATIENCE: Duration = Duration::from_mins(1);

struct Host {
    folder: tempfile::TempDir,
    files: Files,
    items: BTreeSet<Item>,
}

impl Host {
    fn watching(items: &[Item]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(Some(folder.path().to_owned()), vec!["/run/force"]);
        Self {
            folder,
            files,
            items: items.iter().cloned().collect(),
        }
    }

    fn follow(&mut self) -> bool {
        self.files.follow(&self.items)
    }

    fn write(&self, path: &str, text: &str) {
        let place = self.folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    /// Something is noticed, and is news once.
    async fn notices(&mut self) {
        timeout(PATIENCE, self.files.changed()).await.expect("it was noticed");
        assert!(self.follow());
        assert!(!self.follow());
    }
}

fn path(path: &str) -> Item {
    Item::Path(path.to_owned())
}

#[tokio::test]
async fn what_appears_changes_and_goes_is_noticed() {
    let mut host = Host::watching(&[path("/etc/deep/er/a.conf")]);
    assert!(host.follow(), "nobody looked before");
    assert!(!host.follow());
    // Nothing of the way is there yet.
    host.write("etc/deep/er/a.conf", "one");
    host.notices().await;
    host.write("etc/deep/er/a.conf", "two");
    host.notices().await;
    fs::rename(host.folder.path().join("etc/deep"), host.folder.path().join("etc/away")).unwrap();
    host.notices().await;
    host.write("run/force", "");
    host.notices().await;
}

#[tokio::test]
async fn what_is_of_no_interest_wakes_nobody() {
    let mut host = Host::watching(&[path("/etc/a.conf")]);
    host.write("etc/a.conf", "one");
    host.follow();
    host.write("etc/b.conf", "somebody else's");
    host.write("etc/b.conf", "again");
    // Events come in their order: when this one was seen the others were passed over.
    host.write("etc/a.conf", "two");
    let watch = host.files.watch.as_mut().unwrap();
    assert!(watch.next().await);
    host.write("etc/b.conf", "once more");
    let watch = host.files.watch.as_mut().unwrap();
    assert!(!watch.next().await);
}

#[tokio::test]
async fn a_unit_that_is_disabled_is_noticed() {
    let mut host = Host::watching(&[Item::Unit("a.service".to_owned())]);
    host.write("etc/systemd/system/multi-user.target.wants/a.service", "");
    host.follow();
    let wants = host.folder.path().join("etc/systemd/system/multi-user.target.wants");
    fs::remove_file(wants.join("a.service")).unwrap();
    host.notices().await;
    // By a folder that was not there.
    host.write("etc/systemd/system/other.target.requires/a.service", "");
    host.notices().await;
}

#[tokio::test]
async fn a_change_that_nobody_waited_for_is_not_lost() {
    let mut host = Host::watching(&[path("/etc/a.conf")]);
    host.write("etc/a.conf", "one");
    host.follow();
    host.write("etc/a.conf", "two");
    // Whoever waits is called away in the middle.
    let waited = timeout(Duration::from_millis(50), host.files.changed()).await;
    assert!(waited.is_err());
    host.notices().await;
}
