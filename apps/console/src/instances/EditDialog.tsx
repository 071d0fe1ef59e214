import { type DeploySetup, getInstanceSetup } from '@berth/contract/deploy-templates'
import { deployBody, editInstance, type Instance, instanceName, ports } from '@berth/contract/instances'
import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { DialogForm, FormDialog } from '../lists/FormDialog.tsx'
import { AccessFold } from '../machine-form/AccessFold.tsx'
import { envRows, keptRowsOf, secretNames } from '../machine-form/env/env-rows.ts'
import fold from '../machine-form/Fold.module.css'
import { NetworkFold } from '../machine-form/NetworkFold.tsx'
import { StartFold } from '../machine-form/StartFold.tsx'
import { Answer } from '../ui/Answer.tsx'
import { portsFromText, portsToText } from '../ui/ports-text.ts'
import { StopRuleFields } from '../ui/StopRuleFields.tsx'
import { stopRuleFields, stopRuleValues } from '../ui/stop-rules.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import classes from './EditDialog.module.css'
import { changesOf, isForStart } from './edit-changes.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'

const WIDTH_PX = 640

/**
 * Changes an instance: its name (R5.4), when it is stopped by itself (B5), its ports, who may sign in, and what it is
 * started with, which waits for its next start.
 */
export function EditDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('instances')
  const setup = useQuery(queryOf(getInstanceSetup, { params: { id: instance.instance_id } }))
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('edit.title', { name: instance.name })}
      size={WIDTH_PX}
    >
      <Answer query={setup} data={setup.data} rows={5}>
        {data => <EditForm instance={instance} setup={data} onClose={onClose} />}
      </Answer>
    </FormDialog>
  )
}

interface EditFormProps extends Omit<InstanceDialogProps, 'opened'> {
  instance: Instance
  setup: DeploySetup
}

function EditForm({ instance, setup, onClose }: EditFormProps) {
  const { t } = useTranslation(['instances', 'deploy', 'common'])
  // The list goes on being read behind the dialog: what was changed there meanwhile is not to be changed back.
  const [before] = useState(() => ({
    ...setup,
    name: instance.name,
    ...pickRules(instance),
    resume_after_topup: instance.resume_after_topup,
  }))
  const [kept] = useState(() => new Set(setup.secret_env))
  const [restart, setRestart] = useState(false)
  const edit = useChange(editInstance, { silent: true })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: {
      name: before.name,
      ...stopRuleValues(before),
      resume_after_topup: before.resume_after_topup,
      http_ports: portsToText(before.http_ports),
      tcp_ports: portsToText(before.tcp_ports),
      udp_ports: portsToText(before.udp_ports),
      ssh_key_ids: before.ssh_key_ids,
      start_command: before.start_command,
      on_command_end: before.on_command_end,
      env: keptRowsOf(before),
    },
    onSubmit: async wanted => {
      const changes = changesOf(before, wanted, secretNames(form.getValues().env))
      const isRestarted = restart && waits
      const body = { instance_id: instance.instance_id, ...changes, ...(isRestarted && { restart }) }
      if (Object.keys(changes).length > 0) await edit.send({ body })
      onClose()
    },
  })
  const { values, setFieldValue } = form
  const chooseKeys = useCallback((ids: string[] | null) => setFieldValue('ssh_key_ids', ids), [setFieldValue])
  const both = portsFromText(values.http_ports).find(port => portsFromText(values.tcp_ports).includes(port))
  const read = formSchema.safeParse(values)
  const waits =
    instance.status === 'running' &&
    read.success &&
    isForStart(changesOf(before, read.data, secretNames(values.env)))
  return (
    <DialogForm call={editInstance} state={state} submitLabel={t('edit.save')} onCancel={onClose}>
      <TextInput
        label={t('edit.name')}
        description={t('edit.note')}
        autoComplete="off"
        spellCheck={false}
        // One more than allowed, so that the rule can say that it is too long.
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <StopRuleFields fieldOf={path => form.getInputProps(path)} currency={instance.currency} />
      <Checkbox
        label={t('edit.resume')}
        description={t('edit.resume_note')}
        {...form.getInputProps('resume_after_topup', { type: 'checkbox' })}
        aria-invalid={form.errors.resume_after_topup !== undefined}
      />
      <div className={classes.folds}>
        <NetworkFold
          values={values}
          fieldOf={path => form.getInputProps(path)}
          ownAddress={instance.eip?.type === 'dedicated'}
        >
          {both !== undefined && (
            <p role="status" className={`${fold.wide} ${fold.note}`}>
              {t('edit.port_both', { port: both })}
            </p>
          )}
        </NetworkFold>
        <AccessFold value={values.ssh_key_ids} onChange={chooseKeys} error={form.errors.ssh_key_ids} />
        <StartFold
          values={values}
          fieldOf={path => form.getInputProps(path)}
          errorAt={path => form.errors[path]}
          onEnv={rows => {
            setFieldValue('env', rows)
            for (const path of Object.keys(form.errors)) {
              if (path.startsWith('env.')) form.clearFieldError(path)
            }
          }}
          kept={kept}
        />
      </div>
      {waits && (
        <div role="status">
          <p className={classes.waits}>{t('edit.waits')}</p>
          <Checkbox
            label={t('edit.restart')}
            description={t('edit.restart_note')}
            checked={restart}
            onChange={event => setRestart(event.currentTarget.checked)}
          />
        </div>
      )}
    </DialogForm>
  )
}

function pickRules({ stop_at, spend_limit_cents, idle_stop_minutes }: Instance) {
  return { stop_at, spend_limit_cents, idle_stop_minutes }
}

const { ssh_key_ids, start_command, on_command_end } = deployBody.shape

const formSchema = z.object({
  name: instanceName,
  ...stopRuleFields,
  resume_after_topup: z.boolean(),
  http_ports: z.string().transform(portsFromText).pipe(ports),
  tcp_ports: z.string().transform(portsFromText).pipe(ports),
  udp_ports: z.string().transform(portsFromText).pipe(ports),
  ssh_key_ids: ssh_key_ids.unwrap(),
  start_command: start_command.unwrap(),
  on_command_end: on_command_end.unwrap(),
  env: envRows,
})
