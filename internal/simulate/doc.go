// Package simulate is the simulated world of a rehearsal: what a real cluster
// has around its control plane, so that a rollout fails on the plane where it
// would fail in production, and only there.
//
//   - kubelet: pods become ready only when what they need is there;
//   - storage: claims are provisioned while their provisioner is up;
//   - operators: custom resources become ready, and make what they make, only
//     while their controller is available. They are data: see rules/ and
//     docs/simulation-rules.md;
//   - webhooks: admit while their Service has ready endpoints;
//   - load balancers and aggregated APIs.
//
// The world runs in the plane's process, beside a real etcd, API server,
// controller manager and scheduler; whatever those do is not simulated.
package simulate
