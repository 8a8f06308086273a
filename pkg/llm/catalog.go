package llm

// A Catalog finds models among several providers. It is immutable and safe for concurrent use.
type Catalog struct {
	providers []Provider
}

// NewCatalog returns the catalog of providers. Where two of them offer the same model the earlier one serves it.
func NewCatalog(providers ...Provider) *Catalog {
	return &Catalog{providers: append([]Provider(nil), providers...)}
}

// Lookup returns who serves m and what it says about it. An m without a provider is the first model of that id. It
// reports false when nobody lists m.
func (c *Catalog) Lookup(m Model) (Provider, ModelInfo, bool) {
	for _, p := range c.providers {
		if m.Provider != "" && p.Name() != m.Provider {
			continue
		}
		for _, info := range p.Models() {
			if info.ID == m.ID {
				return p, info, true
			}
		}
	}
	return nil, ModelInfo{}, false
}

// List returns every model once, by provider in the order given to [NewCatalog].
func (c *Catalog) List() []ModelInfo {
	infos := []ModelInfo{}
	seen := map[Model]bool{}
	for _, p := range c.providers {
		for _, info := range p.Models() {
			key := Model{Provider: p.Name(), ID: info.ID}
			if !seen[key] {
				seen[key] = true
				infos = append(infos, info)
			}
		}
	}
	return infos
}
