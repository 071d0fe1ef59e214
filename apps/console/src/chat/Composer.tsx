import { chat } from '@berth/contract/models'
import { Button } from '@mantine/core'
import { IconArrowUp, IconPlayerStop } from '@tabler/icons-react'
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../app/session/use-off-for.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import classes from './Composer.module.css'
import { isComposing } from './composing.ts'

/** Which keys send: Enter in a chat, Ctrl+Enter where pictures are described in several lines (R2.29). */
export type SendKeys = 'enter' | 'ctrl+enter'

interface ComposerProps {
  text: string
  onType: (text: string) => void
  sendKeys: SendKeys
  /** How many models are asked. */
  count: number
  /** Nobody is signed in: whoever sends is asked to first. */
  isGuest: boolean
  isAnswering: boolean
  /** Why nothing can be sent now, where that is not for want of words. */
  reason?: string | null | undefined
  onSend: () => void
  onStop: () => void
  /** Files that were pasted; without it, text alone is taken. */
  onFiles?: ((files: readonly File[]) => void) | undefined
  /** What stands over the field: pictures. */
  above?: ReactNode
  /** What stands before the field: what chooses pictures. */
  before?: ReactNode
  /** What the next message will cost. */
  children: ReactNode
}

/** Where a message is written. While answers are written the one thing to do is to stop them. */
export function Composer(props: ComposerProps) {
  const { text, onType, sendKeys, count, isAnswering, onSend, onStop, onFiles } = props
  const { t } = useTranslation('chat')
  const off = useOffFor(chat)
  const hint = useId()
  const keys = sendKeys === 'enter' ? 'enter' : 'keys'
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || isComposing(event) || event.shiftKey) return
    const isHeld = event.ctrlKey || event.metaKey
    if (isHeld !== (sendKeys === 'ctrl+enter')) return
    event.preventDefault()
    if (!isAnswering) onSend()
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (!isAnswering) onSend()
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (!onFiles || files.length === 0) return
    event.preventDefault()
    onFiles(files)
  }
  return (
    <form className={classes.composer} onSubmit={onSubmit} aria-label={t('composer.label')}>
      <div className={classes.box}>
        {props.above}
        <div className={classes.line}>
          {props.before}
          <textarea
            className={classes.field}
            aria-label={t('composer.message')}
            aria-describedby={hint}
            placeholder={
              count === 1
                ? t(`composer.placeholder_${keys}`)
                : t(`composer.placeholder_${keys}_all`, { number: count })
            }
            rows={1}
            value={text}
            onChange={event => onType(event.currentTarget.value)}
            onKeyDown={onKeyDown}
            onPaste={onPaste}
          />
          <span className={classes.end}>
            {sendKeys === 'ctrl+enter' && <kbd className={classes.keys}>Ctrl+Enter</kbd>}
            {isAnswering ? (
              <Button size="lg" leftSection={<IconPlayerStop size={15} stroke={1.8} />} onClick={onStop}>
                {count === 1 ? t('composer.stop') : t('composer.stop_all', { number: count })}
              </Button>
            ) : (
              <SendButton {...props} />
            )}
          </span>
        </div>
      </div>
      <div id={hint} className={classes.hints}>
        {off !== null && <span className={classes.off}>{off}</span>}
        {props.children}
      </div>
    </form>
  )
}

function SendButton({ isGuest, reason }: Pick<ComposerProps, 'isGuest' | 'reason'>) {
  const { t } = useTranslation('chat')
  if (isGuest) {
    return (
      <Button type="submit" size="lg">
        {t('composer.log_in')}
      </Button>
    )
  }
  return (
    <VerifiedButton
      call={chat}
      type="submit"
      size="lg"
      reason={reason}
      leftSection={<IconArrowUp size={15} stroke={1.8} />}
    >
      {t('composer.send')}
    </VerifiedButton>
  )
}
