//! Machine-config pools: membership, rendering, rollout planning.
