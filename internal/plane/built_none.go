//go:build noplane

package plane

// Built says whether this program holds a control plane.
const Built = false
