//! A site from any text: loaded, resolved for both flavours, checked and placed, every finding inside the text.
#![no_main]

use berth_documents::{Sources, parse};
use berth_fuzz::assert_findings_fit;
use berth_labels::Flavour;
use berth_pools::RenderOptions;
use berth_site::{Placement, Resolver, check, load, render_pool};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut sources = Sources::new();
    let id = sources.add("input", text);
    let parsed = parse(&sources, id);
    let (site, findings) = load(&sources, &parsed.documents);
    assert_findings_fit(&sources, &findings);
    for flavour in [Flavour::Upstream, Flavour::Openshift] {
        let resolver = Resolver::new(&site, flavour);
        let resolutions = resolver.resolve_all();
        assert_findings_fit(&sources, &check(&sources, &resolver, &resolutions));
        for resolution in &resolutions {
            assert_findings_fit(&sources, &resolution.diagnostics);
            for label in &resolution.labels {
                assert!(!site.describe(label.source).is_empty());
            }
        }
        for node in &site.observed {
            let _ = site.owned_labels(node);
        }
        assert_eq!(Placement::new(&resolver, &resolutions).nodes.len(), resolutions.len());
    }
    for pool in &site.pools {
        let _ = render_pool(&site, pool, &RenderOptions::default());
    }
});
