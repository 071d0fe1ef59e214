import '@tanstack/react-query'

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: {
      /** A refresh that fails says nothing, not even a toast. */
      silent?: boolean
      /** It goes on when its page is left (R4.11), as its call says. */
      outlivesNavigation?: boolean
    }
  }
}
