import type { User } from '@berth/contract/account'
import { confirmSignIn, sendSignInCode } from '@berth/contract/account-security'
import { by, typedPassword } from '@berth/contract/fields'
import { SIGN_IN_CODE_LIFE_MS } from '@berth/contract/limits'
import { Button, Modal, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { told, useChange } from '../../api/use-change.ts'
import { useCovering } from '../../ui/covering.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { type ContractForm, useContractForm } from '../../ui/use-contract-form.ts'
import classes from './ConfirmSignInDialog.module.css'
import { hasPassword } from './has-password.ts'

/** Over whatever dialog it interrupts. */
const Z_INDEX = 300
const LIFE_MINUTES = SIGN_IN_CODE_LIFE_MS / 60_000

export interface ConfirmSignInDialogProps {
  user: User
  /** Mails are kept here, where one can look at them. */
  mailbox: boolean
  onAnswer: (confirmed: boolean) => void
}

/**
 * Asks whoever has the session to confirm who they are, over the form whose call wants that: by the password, or by a
 * code that is mailed where there is none, or where it is not at hand.
 */
export function ConfirmSignInDialog({ user, mailbox, onAnswer }: ConfirmSignInDialogProps) {
  const { t } = useTranslation('common')
  const [way, setWay] = useState<'password' | 'code'>(hasPassword(user) ? 'password' : 'code')
  useCovering()
  const confirmed = () => onAnswer(true)
  const cancel = () => onAnswer(false)
  return (
    <Modal
      opened
      onClose={cancel}
      title={t('confirm_sign_in.title')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
      zIndex={Z_INDEX}
      size={440}
    >
      {way === 'password' ? (
        <ByPassword user={user} onConfirmed={confirmed} onCancel={cancel} onCode={() => setWay('code')} />
      ) : (
        <ByCode user={user} mailbox={mailbox} onConfirmed={confirmed} onCancel={cancel} />
      )}
    </Modal>
  )
}

interface WayProps {
  user: User
  onConfirmed: () => void
  onCancel: () => void
}

const passwordForm = z.object({ password: typedPassword })

function ByPassword({ user, onConfirmed, onCancel, onCode }: WayProps & { onCode: () => void }) {
  const { t } = useTranslation('common')
  const confirm = useChange(confirmSignIn, { silent: true })
  const { form, ...state } = useContractForm({
    schema: passwordForm,
    initialValues: { password: '' },
    async onSubmit(body) {
      await confirm.send({ body })
      onConfirmed()
    },
  })
  return (
    <WayForm state={state} text={t('confirm_sign_in.lead')} onCancel={onCancel}>
      {/* Tells a password manager whose password this is. */}
      <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
      <PasswordField
        label={t('confirm_sign_in.password')}
        autoComplete="current-password"
        data-autofocus
        {...form.getInputProps('password')}
      />
      <LinkButton className={classes.way} onClick={onCode}>
        {t('confirm_sign_in.by_code')}
      </LinkButton>
    </WayForm>
  )
}

const codeForm = z.object({
  code: confirmSignIn.body.shape.code.unwrap().trim().min(1, by('required')),
})

function ByCode({ user, mailbox, onConfirmed, onCancel }: WayProps & { mailbox: boolean }) {
  const { t } = useTranslation('common')
  const { email } = user
  const [sent, setSent] = useState(false)
  const mail = useChange(sendSignInCode)
  const confirm = useChange(confirmSignIn, { silent: true })
  const { form, ...state } = useContractForm({
    schema: codeForm,
    initialValues: { code: '' },
    async onSubmit(body) {
      await confirm.send({ body })
      onConfirmed()
    },
  })
  const send = async () => {
    await mail.send({})
    setSent(true)
  }
  if (!sent) {
    return (
      <div className={classes.form}>
        <p className={classes.text}>
          {t('confirm_sign_in.lead')} {t('confirm_sign_in.code_lead', { email })}
        </p>
        <div className={classes.buttons}>
          <Button variant="default" onClick={onCancel}>
            {t('dialog.cancel')}
          </Button>
          <Button loading={mail.busy} data-autofocus onClick={() => void send().catch(told)}>
            {t('confirm_sign_in.send')}
          </Button>
        </div>
      </div>
    )
  }
  const text = (
    <>
      {t('confirm_sign_in.sent', { email, minutes: LIFE_MINUTES })}{' '}
      {mailbox && (
        <a href="/mailbox" target="_blank" rel="noreferrer">
          {t('verify.mailbox')}
        </a>
      )}
    </>
  )
  return (
    <WayForm state={state} text={text} onCancel={onCancel}>
      <TextInput
        label={t('confirm_sign_in.code')}
        inputMode="numeric"
        autoComplete="one-time-code"
        spellCheck={false}
        // The button that was pressed is gone; a mail is opened next.
        ref={input => input?.focus()}
        {...form.getInputProps('code')}
      />
      <LinkButton className={classes.way} disabled={mail.busy} onClick={() => void send().catch(told)}>
        {t('confirm_sign_in.again')}
      </LinkButton>
    </WayForm>
  )
}

interface WayFormProps {
  state: Pick<ContractForm<Record<string, unknown>>, 'submit' | 'busy' | 'failure'>
  text: ReactNode
  onCancel: () => void
  children: ReactNode
}

function WayForm({ state, text, onCancel, children }: WayFormProps) {
  const { t } = useTranslation('common')
  return (
    <form className={classes.form} noValidate onSubmit={state.submit}>
      <p className={classes.text} role="status">
        {text}
      </p>
      {children}
      <FormFailure message={state.failure} />
      <div className={classes.buttons}>
        <Button variant="default" onClick={onCancel}>
          {t('dialog.cancel')}
        </Button>
        <Button type="submit" loading={state.busy}>
          {t('confirm_sign_in.submit')}
        </Button>
      </div>
    </form>
  )
}
