import type { Call } from '@berth/contract/call'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode, RefObject } from 'react'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'

interface AddButtonProps {
  /** What adds it in the end. */
  call: Call
  /** Takes the focus where the row is gone that a dialog was opened from: `fallback` of `useAsked`. */
  fallback: RefObject<HTMLDivElement | null>
  onClick: () => void
  /** What it adds. */
  children: ReactNode
}

/** The button above a list of keys that adds one. */
export function AddButton({ call, fallback, onClick, children }: AddButtonProps) {
  return (
    <div ref={fallback}>
      <VerifiedButton
        call={call}
        size="xs"
        variant="default"
        leftSection={<IconPlus size={14} />}
        onClick={onClick}
      >
        {children}
      </VerifiedButton>
    </div>
  )
}
