import { Suspense, useState } from 'react'
import { lazyPart } from '../app/lazy-part.ts'
import { MenuButton } from './MenuButton.tsx'
import type { RowActionItem } from './row-action.ts'

const load = () => import('./RowMenu.tsx')
const RowMenu = lazyPart(() => load().then(module => module.RowMenu))

interface ActionMenuProps<Action extends string> {
  /** What it opens, for screen readers. */
  label: string
  /** Every action, asked for when the menu opens. */
  items: () => readonly RowActionItem<Action>[]
  onAsk: (action: Action) => void
}

/** Three dots, behind which are all actions. */
export function ActionMenu<Action extends string>({ label, items, onAsk }: ActionMenuProps<Action>) {
  // What floats is heavy, so it is loaded when the pointer or the focus comes near.
  const [asked, setAsked] = useState(false)
  const preload = () => void load().catch(() => undefined)
  const closedMenu = (
    <MenuButton
      label={label}
      aria-expanded={false}
      onPointerEnter={preload}
      onFocus={preload}
      onClick={() => setAsked(true)}
    />
  )
  if (!asked) return closedMenu
  return (
    <Suspense fallback={closedMenu}>
      <RowMenu label={label} items={items()} onAsk={action => onAsk(action as Action)} />
    </Suspense>
  )
}
