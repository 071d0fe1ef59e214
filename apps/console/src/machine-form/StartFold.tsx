import type { CommandEndRule } from '@berth/contract/instances'
import { START_COMMAND_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CommandEndField } from './CommandEndField.tsx'
import { EnvField } from './env/EnvField.tsx'
import { type EnvRow, filledRows, isSecret } from './env/env-rows.ts'
import fold from './Fold.module.css'
import { Fold } from './Fold.tsx'

/** What a machine is started with, as a form holds it. */
export interface StartValues {
  start_command: string
  on_command_end: CommandEndRule
  env: EnvRow[]
}

interface StartFoldProps {
  values: StartValues
  /** What a field of the form needs: its value, its error, how it changes. */
  fieldOf: (
    path: 'start_command' | 'on_command_end',
  ) => ReturnType<UseFormReturnType<StartValues>['getInputProps']>
  /** What is wrong at a path of a part of a field. */
  errorAt: (path: string) => ReactNode
  onEnv: (rows: EnvRow[]) => void
  /** Names of secret variables whose values are kept unless others are typed. */
  kept?: ReadonlySet<string>
}

/** What a machine is started with: its command, and its environment. */
export function StartFold({ values, fieldOf, errorAt, onEnv, kept }: StartFoldProps) {
  const { t } = useTranslation('deploy')
  return (
    <Fold title={t('start.title')} holds={[...commandTexts(), ...variableTexts()].join(' · ')}>
      <TextInput
        className={fold.wide ?? ''}
        label={t('start.command')}
        description={t('start.command_note')}
        maxLength={START_COMMAND_CHARS_MAX + 1}
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: 'mono' }}
        {...fieldOf('start_command')}
      />
      {values.start_command.trim() !== '' && <CommandEndField field={fieldOf('on_command_end')} />}
      <EnvField rows={values.env} onChange={onEnv} errorAt={errorAt} {...(kept && { kept })} />
    </Fold>
  )

  /** The command, and what happens when it ends where that is not as usual. */
  function commandTexts(): string[] {
    const command = values.start_command.trim()
    if (command === '') return [t('start.own_command')]
    const { on_command_end: rule } = values
    return rule === 'keep' ? [command] : [command, t(`start.then_${rule}`)]
  }

  function variableTexts(): string[] {
    const rows = filledRows(values.env)
    const secrets = rows.filter(isSecret).length
    const count = t('start.variables', { count: rows.length })
    return secrets === 0 ? [count] : [`${count}, ${t('env.secrets', { count: secrets })}`]
  }
}
