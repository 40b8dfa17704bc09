package finding

// EditOp says what an Edit does.
type EditOp string

// The operations of an Edit.
const (
	// Set writes a scalar at a path; mappings that are missing on the way are
	// made.
	Set EditOp = "set"
	// Remove deletes the entry at a path, and the mappings above it that it
	// leaves empty.
	Remove EditOp = "remove"
	// Append adds a scalar to the list at a path, which is made where it is
	// missing, unless the list has it.
	Append EditOp = "append"
	// Quote makes a string of the scalar at a path.
	Quote EditOp = "quote"
	// Move takes the scalar at the path From and sets it at Path, as a string.
	Move EditOp = "move"
)

// Edit is one mechanical change of a YAML file: an operation on the document
// that a line belongs to. The file keeps its comments and every line that the
// operation does not touch. An edit that cannot be carried out (the file is a
// template, the path crosses an alias) leaves its finding without a patch.
type Edit struct {
	// File is relative to the root of the platform; Line is any line of the
	// document, or of the item of a List, that is meant.
	File string
	Line int
	Op   EditOp
	// Path are the keys from the root of the document: "metadata", "annotations",
	// "argocd.argoproj.io/sync-wave".
	Path []string
	From []string
	// Value is a scalar as YAML writes it, quotes included: `"5"`, `true`.
	Value string
}
