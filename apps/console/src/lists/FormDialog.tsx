import type { Call } from '@berth/contract/call'
import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { isCovered } from '../ui/covering.ts'
import { FormFailure } from '../ui/FormFailure.tsx'
import type { ContractForm } from '../ui/use-contract-form.ts'
import classes from './FormDialog.module.css'

interface FormDialogProps {
  title: string
  opened: boolean
  onClose: () => void
  /** In pixels. */
  size?: number
  /** While something is made that must not be left behind: neither Escape nor its cross closes. */
  stays?: boolean
  /** It has no cross, and Escape closes nothing: a button of what it holds does. */
  closedInside?: boolean
  /** The form: made anew each time the dialog opens, so that nothing typed stays behind. */
  children: ReactNode
}

/** A dialog around a form; clicks beside it lose nothing that was typed. */
export function FormDialog({
  title,
  opened,
  onClose,
  size = 440,
  stays = false,
  closedInside = false,
  children,
}: FormDialogProps) {
  const { t } = useTranslation('common')
  return (
    <Modal
      opened={opened}
      onClose={() => isCovered() || onClose()}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={!stays && !closedInside}
      withCloseButton={!closedInside}
      closeButtonProps={{ 'aria-label': t('dialog.close'), disabled: stays }}
      size={size}
    >
      {children}
    </Modal>
  )
}

interface DialogFormProps {
  /** What it sends. */
  call: Call
  /** What `useContractForm` returned, but for the form itself. */
  state: Pick<ContractForm<Record<string, unknown>>, 'submit' | 'busy' | 'failure'>
  /** A verb: `Save`. */
  submitLabel: string
  onCancel: () => void
  /** What is made must not be left behind: while it is, nothing closes. */
  staysWhileBusy?: boolean
  /** The fields. */
  children: ReactNode
}

/** The form of a dialog: its fields, why the server refused it as a whole, and its two buttons. */
export function DialogForm({
  call,
  state,
  submitLabel,
  onCancel,
  staysWhileBusy,
  children,
}: DialogFormProps) {
  const { t } = useTranslation('common')
  return (
    <form onSubmit={state.submit} noValidate className={classes.form}>
      {children}
      <FormFailure message={state.failure} />
      <div className={classes.buttons}>
        <Button variant="default" disabled={staysWhileBusy === true && state.busy} onClick={onCancel}>
          {t('dialog.cancel')}
        </Button>
        <VerifiedButton call={call} type="submit" loading={state.busy}>
          {submitLabel}
        </VerifiedButton>
      </div>
    </form>
  )
}
