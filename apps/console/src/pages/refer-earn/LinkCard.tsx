import type { ReferralSummary } from '@berth/contract/referral'
import { Button, TextInput } from '@mantine/core'
import { IconCheck, IconCopy, IconMail, IconQrcode } from '@tabler/icons-react'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Card } from '../../ui/Card.tsx'
import { copyText } from '../../ui/copy-text.ts'
import { useFormat } from '../../ui/format.ts'
import { saveText } from '../../ui/save-text.ts'
import classes from './LinkCard.module.css'
import { qrCode, qrFile } from './qr-code.ts'
import { useCents } from './use-cents.ts'

/** The link that friends sign up by, as text and as a code to point a phone at, and what came of it (R2.28). */
export function LinkCard({ summary }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const { link } = summary
  const cents = useCents(summary.currency)
  const { reward, friend_reward, first_topup, rebate_rate } = summary.terms
  const mail = `mailto:?${new URLSearchParams({
    subject: t('mail_subject'),
    body: t('mail_body', { link, amount: cents(friend_reward), topup: cents(first_topup) }),
  })
    .toString()
    .replaceAll('+', '%20')}`
  return (
    <Card padding="none">
      <div className={classes.top}>
        <div className={classes.words}>
          <h2 className={classes.title}>{t('your_link')}</h2>
          <div className={classes.line}>
            <TextInput
              readOnly
              aria-label={t('your_link')}
              value={link}
              className={classes.link}
              classNames={{ input: 'mono' }}
              onFocus={event => event.currentTarget.select()}
            />
            <CopyLink link={link} />
          </div>
          <p className={classes.hint}>{t('link_hint')}</p>
          <div className={classes.buttons}>
            <Button
              component="a"
              href={mail}
              variant="default"
              size="compact-sm"
              leftSection={<IconMail size={14} stroke={1.6} />}
            >
              {t('mail')}
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<IconQrcode size={14} stroke={1.6} />}
              onClick={() => saveText(`refer-${summary.code}.svg`, qrFile(link), 'image/svg+xml')}
            >
              {t('save_qr')}
            </Button>
          </div>
        </div>
        <QrCode text={link} label={t('qr', { reward: cents(reward), rate: rebate_rate })} />
      </div>
      <Stats summary={summary} />
    </Card>
  )
}

function CopyLink({ link }: { link: string }) {
  const { t } = useTranslation(['refer', 'common'])
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  return (
    <>
      <Button
        leftSection={
          state === 'copied' ? <IconCheck size={16} stroke={1.6} /> : <IconCopy size={16} stroke={1.6} />
        }
        onBlur={() => setState('idle')}
        onClick={() => {
          copyText(link).then(
            () => setState('copied'),
            () => setState('failed'),
          )
        }}
      >
        {t('copy_link')}
      </Button>
      <span className="said" role="status">
        {state === 'idle' ? '' : t(`common:copy.${state}`)}
      </span>
    </>
  )
}

function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => qrCode(text), [text])
  return (
    <svg
      className={classes.qr}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <path d={path} />
    </svg>
  )
}

/** The four figures (R2.28): earned, settled, friends, and friends who count. */
function Stats({ summary }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const { currency } = summary
  const cents = useCents(currency)
  const stats = [
    {
      name: t('total_earnings'),
      value: format.money(summary.total_earnings_micro, currency),
      second: summary.since === null ? t('nobody_yet') : t('since', { date: format.date(summary.since) }),
    },
    {
      name: t('settled_earnings'),
      value: format.money(summary.settled_earnings_micro, currency),
      second: t('arrived', { amount: format.money(summary.settled_payout_micro, currency) }),
    },
    {
      name: t('registered_users'),
      value: format.number(summary.registered_users),
      second: t('this_quarter', { count: summary.registered_this_quarter }),
    },
    {
      name: t('effective_consumers'),
      value: format.number(summary.effective_consumers),
      second: t('paid_or_more', { amount: cents(summary.terms.first_topup) }),
    },
  ]
  return (
    <dl className={classes.stats}>
      {stats.map(({ name, value, second }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={classes.value}>{value}</dd>
          <dd className={classes.hint}>{second}</dd>
        </div>
      ))}
    </dl>
  )
}
