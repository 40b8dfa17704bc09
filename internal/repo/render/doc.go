// Package render turns the sources of components into objects: Helm charts,
// kustomizations and folders of manifests.
//
// Sources are rendered in confined workers (package evaluate), bounded in time and
// size. Nothing is read outside the repository, and only what is remote is fetched,
// by Options.Fetch, and not at all offline. The same repository gives the same
// objects in the same order, whatever the number of workers.
//
// Charts are told the API versions of the target and of the CRDs in the
// repository. Those are known only after rendering, so All renders in rounds:
// first everything, then again the charts that ask for API versions, with the
// versions of the CRDs found so far added, until no new CRD appears (three
// rounds at most; the set only grows, so the result does not depend on order).
//
// Results are cached on disk with a record of every file that was looked at
// and what it held; a result counts only while all of them still hold the same.
package render
