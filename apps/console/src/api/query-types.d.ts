import '@tanstack/react-query'

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: {
      /** A refresh that fails says nothing, not even a toast. */
      silent?: boolean
    }
  }
}
