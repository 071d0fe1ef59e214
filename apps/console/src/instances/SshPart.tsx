import type { Connection } from '@berth/contract/instances'
import { listSshKeys } from '@berth/contract/ssh-keys'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'
import { Answer } from '../ui/Answer.tsx'
import { CopyText } from '../ui/CopyText.tsx'
import classes from './Ways.module.css'

const SSH_PORT = 22

/** The way into an instance by SSH: the command, the keys that let in, and what the server is known by. */
export function SshPart({ ssh }: { ssh: NonNullable<Connection['ssh']> }) {
  const { t } = useTranslation('instances')
  const keys = useQuery(queryOf(listSshKeys, {}))
  return (
    <>
      <CopyText mono value={commandOf(ssh)} label={t('connect.ssh_command')} />
      {ssh.own_server && <p className={classes.hint}>{t('connect.ssh_vm')}</p>}
      <Answer query={keys} data={keys.data} rows={1}>
        {stored => (
          <p className={classes.hint}>
            {stored.length === 0
              ? t('connect.ssh_no_keys')
              : t('connect.ssh_keys', { names: stored.map(({ name }) => name).join(', ') })}{' '}
            <Link to="/settings" search={searchOf({ section: 'ssh-keys' })}>
              {t(stored.length === 0 ? 'connect.ssh_add_key' : 'connect.ssh_see_keys')}
            </Link>
          </p>
        )}
      </Answer>
      {ssh.fingerprints.map(({ type: name, fingerprint }) => {
        const type = kindOf(name)
        return (
          <div key={name} className={classes.row}>
            <span className={classes.port}>{t('connect.ssh_host_key', { type })}</span>
            <div className={classes.address}>
              <CopyText mono value={fingerprint} label={t('connect.ssh_fingerprint', { type })} />
            </div>
          </div>
        )
      })}
    </>
  )
}

/** The kind of a key as a client names it beside its fingerprint: `ED25519`, `ECDSA`. */
function kindOf(type: string): string {
  return type
    .replace(/^ssh-/, '')
    .replace(/-sha2.*/, '')
    .toUpperCase()
}

function commandOf({ user, host, port }: NonNullable<Connection['ssh']>): string {
  return `ssh ${user}@${host}${port === SSH_PORT ? '' : ` -p ${port}`}`
}
