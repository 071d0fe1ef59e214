import type { User } from '@berth/contract/account'
import { Suspense, useState } from 'react'
import { lazyPart } from '../lazy-part.ts'
import { AvatarButton } from './AvatarButton.tsx'
import type { ShellCommands } from './shell-commands.ts'

const load = () => import('./AvatarDropdown.tsx')
const AvatarDropdown = lazyPart(() => load().then(module => module.AvatarDropdown))

interface AvatarMenuProps {
  user: User
  docsUrl: string | undefined
  commands: ShellCommands
}

/** The customer's own menu. What floats is heavy, so it is loaded when the pointer or the focus comes near. */
export function AvatarMenu({ user, docsUrl, commands }: AvatarMenuProps) {
  const [asked, setAsked] = useState(false)
  const preload = () => void load().catch(() => undefined)
  if (!asked) {
    return (
      <AvatarButton
        user={user}
        aria-expanded={false}
        onPointerEnter={preload}
        onFocus={preload}
        onClick={() => setAsked(true)}
      />
    )
  }
  return (
    <Suspense fallback={<AvatarButton user={user} aria-expanded={false} />}>
      <AvatarDropdown user={user} docsUrl={docsUrl} commands={commands} />
    </Suspense>
  )
}
