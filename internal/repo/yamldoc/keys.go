package yamldoc

// long is how many entries a map has whose keys are worth remembering.
const long = 32

// keys finds the entries of a map, which may grow, by their keys.
type keys struct {
	of *Value
	// places are those of the first entries, noted so far, of a map that is too long
	// to look through for each key.
	places map[string]int
	noted  int
}

// find returns the place of the first entry of a key.
func (k *keys) find(key string) (int, bool) {
	all := k.of.Entries
	if len(all) < long {
		for i := range all {
			if all[i].Key == key {
				return i, true
			}
		}
		return 0, false
	}
	if k.places == nil {
		k.places = make(map[string]int, len(all))
	}
	for ; k.noted < len(all); k.noted++ {
		if _, twice := k.places[all[k.noted].Key]; !twice {
			k.places[all[k.noted].Key] = k.noted
		}
	}
	i, ok := k.places[key]
	return i, ok
}
