import { type User, updateUser } from '@berth/contract/account'
import { username } from '@berth/contract/fields'
import { USERNAME_CHARS_MAX } from '@berth/contract/limits'
import { Button, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { useSession } from '../../../app/session/session.ts'
import { CopyText } from '../../../ui/CopyText.tsx'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { useFormat } from '../../../ui/format.ts'
import { StatusBadge } from '../../../ui/StatusBadge.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './ProfileSection.module.css'

/** Who the customer is here: the name that they choose, and what the account is known by. */
export function ProfileSection() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  if (!user) return null
  return (
    <>
      <SectionCard title={t('profile.username.title')} lead={t('profile.username.lead')}>
        <UsernameForm user={user} />
      </SectionCard>
      <SectionCard title={t('profile.account.title')} lead={t('profile.account.lead')}>
        <AccountFacts user={user} />
      </SectionCard>
    </>
  )
}

const usernameForm = z.object({ displayName: username })

/** The display name (R5.1). */
function UsernameForm({ user }: { user: User }) {
  const { t } = useTranslation('settings')
  const rename = useChange(updateUser, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: usernameForm,
    initialValues: { displayName: user.displayName },
    async onSubmit({ displayName }) {
      const query = { id: `${user.owner}/${user.name}`, columns: 'display_name' as const }
      await rename.send({ query, body: { displayName } })
      form.setValues({ displayName })
      form.resetDirty({ displayName })
      toast.good(t('profile.username.saved'))
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <div className={classes.line}>
        <TextInput
          className={classes.field}
          aria-label={t('profile.username.label')}
          autoComplete="nickname"
          // One more than allowed, so that the rule can say that it is too long.
          maxLength={USERNAME_CHARS_MAX + 1}
          {...form.getInputProps('displayName')}
        />
        <Button type="submit" loading={busy} disabled={!form.isDirty()}>
          {t('profile.username.save')}
        </Button>
      </div>
      <FormFailure message={failure} />
    </form>
  )
}

const VERIFIED = { shape: 'dot', tone: 'good' } as const
const UNVERIFIED = { shape: 'ring', tone: 'warning' } as const

function AccountFacts({ user }: { user: User }) {
  const { t } = useTranslation('settings')
  const format = useFormat()
  return (
    <dl className={classes.facts}>
      <dt>{t('profile.account.email')}</dt>
      <dd>
        <CopyText value={user.email} label={t('profile.account.email')} />
        <span className={classes.status}>
          {user.emailVerified ? (
            <StatusBadge look={VERIFIED} label={t('profile.account.verified')} />
          ) : (
            <StatusBadge
              look={UNVERIFIED}
              label={t('profile.account.unverified')}
              reason={t('profile.account.unverified_hint')}
            />
          )}
        </span>
      </dd>
      <dt>{t('profile.account.id')}</dt>
      <dd>
        <CopyText value={user.accountId} label={t('profile.account.id')} mono />
        <span className={classes.hint}>{t('profile.account.id_hint')}</span>
      </dd>
      <dt>{t('profile.account.since')}</dt>
      <dd>
        {Number.isNaN(Date.parse(user.createdTime))
          ? t('profile.account.since_unknown')
          : format.date(user.createdTime)}
      </dd>
    </dl>
  )
}
