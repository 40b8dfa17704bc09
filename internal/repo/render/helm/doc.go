// Package helm renders Helm charts. It runs in a confined worker (package worker),
// which bounds its time and memory.
//
// Charts, values, dependencies and capabilities are Helm's own (the Helm SDK).
// Templates are executed here, because Helm's engine does not say which line of a
// template an object comes from. The templates' parse trees are given a mark before
// every piece of output, which maps the rendered text back to the line of the
// template. The output is compared with that of Helm's engine in tests.
//
// Rendering is deterministic: what Helm takes from chance or the clock (random
// strings, keys, certificates, now) is derived from the chart, the release and
// the call instead. Such keys and hashes are stand-ins: they have the right
// form, but protect nothing. Templates see neither the environment nor the
// network nor a cluster: lookup finds nothing.
package helm
