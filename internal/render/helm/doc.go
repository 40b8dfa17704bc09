// Package helm renders Helm charts in process, bounded in time and size.
//
// Charts, values, dependencies and capabilities are Helm's own (the Helm SDK);
// templates are executed here, because Helm's engine can neither be stopped nor
// bounded, and does not say which line of a template an object comes from. The
// templates' parse trees are given extra nodes before they run:
//
//   - a check at the start of every template and of every turn of a range,
//     which ends the rendering when its time is over. A template has no other
//     way to run on: recursion passes a template's start, a loop passes its
//     turn. Functions that could do unbounded work in one call (repeat, until,
//     printf, toYaml of a structure that contains itself many times, ...)
//     measure their arguments first.
//   - a mark before every piece of output, which maps the rendered text back to
//     the line of the template.
//
// So no other process and no goroutine is needed to keep the limits, and none
// is left behind. The output is compared with that of Helm's engine in tests.
//
// Rendering is deterministic: what Helm takes from chance or the clock (random
// strings, keys, certificates, now) is derived from the chart, the release and
// the call instead. Such keys and hashes are stand-ins: they have the right
// form, but protect nothing. Templates see neither the environment nor the
// network nor a cluster: lookup finds nothing.
package helm
