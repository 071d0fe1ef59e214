import { listMailbox, type Mail } from '@berth/contract/account'
import { Button } from '@mantine/core'
import { Fragment, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { useCall } from '../../api/use-call.ts'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { useSession } from '../../app/session/session.ts'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import classes from './MailboxPage.module.css'
import { mailParts } from './mail-parts.ts'

const NOTHING = {}
const REFRESH_MS = 5_000

/** Mails that were kept on this machine because no mail server is set; it says so. */
export function Page() {
  const { t } = useTranslation(['auth', 'common'])
  const { isLoggedIn } = useSession()
  const { data, error, retry } = useCall(listMailbox, NOTHING)
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') retry()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [retry])

  if (error?.code === 'not_found' || error?.code === 'forbidden') {
    return (
      <GuestCard path="/mailbox" title={t('mailbox.closed_title')}>
        <p className={classes.text}>{error.message}</p>
      </GuestCard>
    )
  }
  return (
    <GuestCard path="/mailbox" title={t('common:titles.mailbox')} wide>
      <p className={classes.text}>{t('mailbox.text')}</p>
      <div className={classes.buttons}>
        <Button variant="default" onClick={retry}>
          {t('mailbox.refresh')}
        </Button>
        <Button component="a" href={isLoggedIn ? '/' : '/auth'} variant="default">
          {isLoggedIn ? t('activity.continue') : t('mailbox.back')}
        </Button>
      </div>
      <div className={classes.list}>
        {!data && !error && <SkeletonRows rows={2} />}
        {!data && error && <EmptyState title={error.message} />}
        {data?.items.length === 0 && (
          <EmptyState title={t('mailbox.empty_title')} hint={t('mailbox.empty_hint')} />
        )}
        {data?.items.map(mail => (
          <MailItem key={mail.id} mail={mail} />
        ))}
      </div>
    </GuestCard>
  )
}

function MailItem({ mail }: { mail: Mail }) {
  const { t } = useTranslation('auth')
  const format = useFormat()
  return (
    <article className={classes.mail}>
      <header className={classes.head}>
        <h2 className={classes.subject}>{mail.subject}</h2>
        <time dateTime={mail.sent_at}>{format.moment(mail.sent_at)}</time>
        <p className={classes.to}>{t('mailbox.to', { address: mail.to })}</p>
      </header>
      <p className={classes.body}>
        {mailParts(mail.text).map(part => (
          <Fragment key={part.at}>{part.link ? <a href={part.text}>{part.text}</a> : part.text}</Fragment>
        ))}
      </p>
    </article>
  )
}
