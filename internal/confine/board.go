package confine

import "encoding/binary"

// board is memory that a worker shares with its parent. In it stands what the worker is
// at, for the parent to read when it has died: to send that for every template took a
// tenth of the CPU time of a lint of examples/ameide. A nil board holds nothing.
type board []byte

const (
	// slots is how many calls may have a note at once; more share places.
	slots    = 16
	slotSize = maxNote
	// slotHead is the number of the call and the length of its note.
	slotHead  = 8
	boardSize = slots * slotSize
)

func (b board) slot(call uint32) []byte {
	if len(b) < boardSize {
		return nil
	}
	at := int(call%slots) * slotSize
	return b[at : at+slotSize]
}

// write puts the note of a call into its place, in the worker. It is not inlined: the
// compiler may leave out what is stored before a loop without end, since nothing of
// the process reads it after that.
//
//go:noinline
func (b board) write(call uint32, note []byte) {
	slot := b.slot(call)
	if slot == nil {
		return
	}
	binary.BigEndian.PutUint32(slot, call)
	n := copy(slot[slotHead:], note)
	binary.BigEndian.PutUint32(slot[4:], uint32(n)) //nolint:gosec // a slot is small
}

// read returns the last note of a call. The worker may have written anything.
func (b board) read(call uint32) []byte {
	slot := b.slot(call)
	if slot == nil || binary.BigEndian.Uint32(slot) != call {
		return nil
	}
	n := min(int(binary.BigEndian.Uint32(slot[4:])), slotSize-slotHead)
	return append([]byte(nil), slot[slotHead:slotHead+n]...)
}
