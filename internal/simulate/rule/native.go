package rule

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// native turns a CEL value into the plain Go that JSON knows.
func native(v ref.Val) any {
	switch v := v.(type) {
	case types.Null:
		return nil
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return native(v.GetValue())
	case types.Bytes:
		return string(v)
	case types.Int:
		return int64(v)
	case types.Uint:
		return int64(v) //nolint:gosec // JSON knows one kind of whole number
	case traits.Mapper:
		out := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			name, ok := key.Value().(string)
			if !ok {
				continue // JSON knows no other keys
			}
			out[name] = native(v.Get(key))
		}
		return out
	case traits.Lister:
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			out = append(out, native(it.Next()))
		}
		return out
	case types.String, types.Bool, types.Double:
		return v.Value()
	default:
		return types.DefaultTypeAdapter.NativeToValue(v.Value()).Value()
	}
}
