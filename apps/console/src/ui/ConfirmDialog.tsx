import { Button, Modal } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './ConfirmDialog.module.css'
import { isCovered } from './covering.ts'

interface ConfirmDialogProps {
  opened: boolean
  /** A question or the act itself: `Stop llama-finetune?` */
  title: string
  /** What will happen to it, and what it will cost. */
  children: ReactNode
  /** A verb: `Stop`. */
  confirmLabel: string
  /** Red, for what cannot be undone. */
  danger?: boolean
  /** Blocks confirming, for instance until a name is typed. */
  disabled?: boolean
  /** Why it cannot be confirmed, in a sentence, and what to do about it; said above the buttons. */
  off?: ReactNode
  /** The dialog waits for it and closes when it succeeds; when it fails it stays, and the failure is toasted. */
  onConfirm: () => unknown
  onClose: () => void
}

/** Asks before something is done (R2.20): cancel, confirm, a close icon; clicks beside it change nothing. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { t } = useTranslation('common')
  const [busy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await props.onConfirm()
      props.onClose()
    } catch {
      // The request layer has said why; the dialog stays so that it can be tried again.
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal
      opened={props.opened}
      onClose={() => isCovered() || props.onClose()}
      title={props.title}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
      size={440}
    >
      <div className={classes.body}>{props.children}</div>
      {props.off && <p className={classes.off}>{props.off}</p>}
      <div className={classes.buttons}>
        <Button variant="default" onClick={props.onClose} data-autofocus={props.danger || undefined}>
          {t('dialog.cancel')}
        </Button>
        <Button
          color={props.danger ? 'bad' : 'accent'}
          variant="filled"
          loading={busy}
          disabled={props.disabled === true || Boolean(props.off)}
          onClick={confirm}
          data-autofocus={!props.danger || undefined}
        >
          {props.confirmLabel}
        </Button>
      </div>
    </Modal>
  )
}
