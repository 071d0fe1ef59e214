import type { User } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { by, typedPassword } from '@berth/contract/fields'
import { listInstances } from '@berth/contract/instances'
import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { listVolumes } from '@berth/contract/volumes'
import { Button, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { reread } from '../../../api/cache-lifecycle.ts'
import { instancesQuery } from '../../../api/instances-query.ts'
import { balanceQuery, queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { hasPassword } from '../../../app/session/has-password.ts'
import { writeLeaveNote } from '../../../app/session/leave-note.ts'
import { session, useSession } from '../../../app/session/session.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { useFormat } from '../../../ui/format.ts'
import { PasswordField } from '../../../ui/PasswordField.tsx'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './DeleteSection.module.css'

const GOES = ['person', 'keys', 'sessions'] as const
const STAYS = ['books', 'audit'] as const

/** Deletes the account for good: says first what goes and what stays. */
export function DeleteSection() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  if (!user) return null
  return (
    <SectionCard title={t('delete.title')} lead={t('delete.lead')}>
      <div className={classes.body}>
        <Instances />
        <Volumes />
        <Consequences />
        <p className={classes.again}>{t('delete.again')}</p>
        <DeleteForm user={user} />
      </div>
    </SectionCard>
  )
}

/** What has to be done first; nothing where it is done, or not known yet: the gateway looks again. */
function Instances() {
  const { t } = useTranslation('settings')
  const { data } = useQuery(instancesQuery)
  if (!data || data.length === 0) return null
  return (
    <p className={classes.first}>
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <span>
        {t('delete.instances', { count: data.length })}{' '}
        <Link to="/instance-list">{t('delete.to_instances')}</Link>
      </span>
    </p>
  )
}

/** The same of network volumes. */
function Volumes() {
  const { t } = useTranslation('settings')
  const { data } = useQuery(queryOf(listVolumes, { query: {} }))
  if (!data || data.length === 0) return null
  return (
    <p className={classes.first}>
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <span>
        {t('delete.volumes', { count: data.length })}{' '}
        <Link to="/network-volume">{t('delete.to_volumes')}</Link>
      </span>
    </p>
  )
}

function Consequences() {
  const { t } = useTranslation('settings')
  const format = useFormat()
  const { data: balance } = useQuery(balanceQuery)
  const left = balance?.account_balance.amount ?? 0
  return (
    <div className={classes.lists}>
      <section>
        <h3 className={classes.heading}>{t('delete.goes.title')}</h3>
        <ul className={classes.list}>
          {GOES.map(what => (
            <li key={what}>{t(`delete.goes.${what}`)}</li>
          ))}
          {balance && left > 0 && (
            <li className={classes.loss}>
              {t('delete.goes.balance', { amount: format.cents(left, balance.currency) })}
            </li>
          )}
        </ul>
      </section>
      <section>
        <h3 className={classes.heading}>{t('delete.stays.title')}</h3>
        <ul className={classes.list}>
          {STAYS.map(what => (
            <li key={what}>{t(`delete.stays.${what}`, { days: AUDIT_KEPT_DAYS })}</li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function DeleteForm({ user }: { user: User }) {
  const { t } = useTranslation('settings')
  const end = useChange(deleteAccount, { silent: true })
  const asksPassword = hasPassword(user)
  const schema = useMemo(() => formFor(user.email, asksPassword), [user.email, asksPassword])
  const { form, submit, busy, failure } = useContractForm({
    schema,
    initialValues: { email: '', password: '' },
    async onSubmit(body) {
      try {
        await end.send({ body })
      } catch (error) {
        // It may be refused for instances that are not on the screen yet.
        void reread([listInstances.operation])
        throw error
      }
      writeLeaveNote('account_deleted')
      await session().signOut({ ended: true })
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <TextInput
        label={t('delete.type', { email: user.email })}
        type="email"
        inputMode="email"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('email')}
      />
      {asksPassword && (
        <PasswordField
          label={t('delete.password')}
          autoComplete="current-password"
          {...form.getInputProps('password')}
        />
      )}
      <FormFailure message={failure} />
      <div>
        <Button type="submit" color="bad" loading={busy}>
          {t('delete.submit')}
        </Button>
      </div>
    </form>
  )
}

/** The address is typed as the account has it; capitals make no other one of it. */
function formFor(email: string, asksPassword: boolean) {
  return z.object({
    email: z
      .string()
      .trim()
      .toLowerCase()
      .refine(typed => typed === email.toLowerCase(), by('confirmation')),
    password: asksPassword ? typedPassword : z.string(),
  })
}
