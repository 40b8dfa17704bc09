package confine

import "os"

// Notes are not to be had here: what ends is told without its place.

func newBoard() (board, *os.File, error) { return nil, nil, nil }
func openBoard(*os.File) (board, error)  { return nil, nil }
func (b board) close()                   {}
