import { useBlocker } from '@tanstack/react-router'
import { Suspense, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'

const ConfirmDialog = lazyPart(() => import('../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog))

type Way = { pathname: string }
/** Another model of the same page is no leaving. */
const leavesPage = ({ current, next }: { current: Way; next: Way }) => current.pathname !== next.pathname

interface LeaveAskProps {
  /** Whether anything was said that would be gone. */
  hasMessages: boolean
  /** Something on the page itself that clears a conversation, and waits for an answer; null for nothing. */
  asked: { label: string; carryOut: () => void } | null
  onAnswered: () => void
}

/**
 * Asks before a conversation is gone (R2.18): by whatever leaves its page, the menu too, by a reload or a closed tab, which
 * the browser asks about in its own words, and by what clears it on the page.
 */
export function LeaveAsk({ hasMessages, asked, onAnswered }: LeaveAskProps) {
  const { t } = useTranslation('chat')
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: leavesPage,
    enableBeforeUnload: hasMessages,
    disabled: !hasMessages,
    withResolver: true,
  })
  const isLeaving = status === 'blocked'
  const isOpen = isLeaving || asked !== null
  // It stays once it was there, so that the focus goes back to where it was.
  const isWanted = useRef(false)
  isWanted.current ||= isOpen
  if (!isWanted.current) return null
  return (
    <Suspense>
      <ConfirmDialog
        opened={isOpen}
        title={t('leave.title')}
        confirmLabel={asked?.label ?? t('leave.confirm')}
        danger
        onConfirm={() => (isLeaving ? proceed() : asked?.carryOut())}
        onClose={() => {
          if (isLeaving) reset()
          onAnswered()
        }}
      >
        {t('leave.text')}
      </ConfirmDialog>
    </Suspense>
  )
}
