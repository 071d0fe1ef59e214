import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'
import { searchOf, stringifySearch } from '../app/search.ts'

/** As long as the router's own links wait before what they lead to is loaded. */
const PRELOAD_AFTER_MS = 50

let preloading: ReturnType<typeof setTimeout> | undefined

interface RowLinkProps {
  to: string
  search: Readonly<Record<string, string>>
  className?: string | undefined
  children: ReactNode
}

/**
 * A link of a row to a page of the console. The router's own link follows where the console is, to say whether it leads
 * there already; this one follows nothing, for rows come by the hundred while a list is scrolled.
 */
export function RowLink({ to, search, className, children }: RowLinkProps) {
  const router = useRouter()
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    const { button, metaKey, ctrlKey, shiftKey, altKey } = event
    // Another tab or a download is the browser's to open.
    if (button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return
    event.preventDefault()
    void router.navigate({ to, search: searchOf(search) })
  }
  const preload = () => {
    clearTimeout(preloading)
    preloading = setTimeout(
      () => void router.preloadRoute({ to, search: searchOf(search) }).catch(() => undefined),
      PRELOAD_AFTER_MS,
    )
  }
  const leave = () => clearTimeout(preloading)
  return (
    <a
      href={to + stringifySearch(search)}
      className={className}
      onClick={follow}
      onMouseEnter={preload}
      onMouseLeave={leave}
      onFocus={preload}
      onBlur={leave}
    >
      {children}
    </a>
  )
}
