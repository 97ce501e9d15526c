-- Neovim as a real client of `twig lsp`: opens a prompt, types, and looks at what it shows.

local twig, folder = vim.env.TWIG, vim.env.LIBRARY
local passed = 0

local function check(what, condition)
  if not condition then
    io.stderr:write("failed: " .. what .. "\n")
    vim.cmd("cquit 1")
  end
  passed = passed + 1
end

local function wait_for(what, condition)
  check(what, vim.wait(30000, condition, 20))
end

local client = vim.lsp.start_client({ name = "twig", cmd = { twig, "lsp" }, root_dir = folder })
check("the server starts", client ~= nil)
wait_for("it is initialized", function()
  return vim.lsp.get_client_by_id(client) ~= nil and vim.lsp.get_client_by_id(client).initialized
end)

vim.cmd("edit " .. folder .. "/prompts/water.md")
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)

local function messages()
  local found = {}
  for _, problem in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(found, problem.message)
  end
  return found
end

local function type_text(lines)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
end

type_text({ "Water the {{ plnat }} {{ litres }}." })
wait_for("the typo is shown", function()
  local found = table.concat(messages(), "\n")
  return found:find("`plnat` is used but not declared", 1, true) and found:find("did you mean `plant`?", 1, true)
end)
local problem = vim.diagnostic.get(buffer, { severity = vim.diagnostic.severity.ERROR })[1]
check("it is under the word", problem.lnum == 0 and problem.col == 13 and problem.end_col == 18)
check("it is an error", problem.severity == vim.diagnostic.severity.ERROR)

type_text({ "Water the {{ plant }} {{ litres }}." })
wait_for("the typo is gone", function()
  return #vim.diagnostic.get(buffer) == 0
end)

local function ask(method, line, character)
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    position = { line = line, character = character },
  }
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
  check(method .. " is answered", answers ~= nil and answers[client] ~= nil and answers[client].err == nil)
  return answers[client].result
end

local labels = {}
for _, item in ipairs(ask("textDocument/completion", 0, 14).items) do
  labels[item.label] = true
end
check("arguments are completed", labels.plant and labels.litres)
check("hover explains", ask("textDocument/hover", 0, 15).contents.value:find("Which plant", 1, true))
local place = ask("textDocument/definition", 0, 15)
check("the definition is in the manifest", place.uri:find("/twig.toml", 1, true) and place.range.start.line == 4)

vim.lsp.stop_client(client)
wait_for("the server ends", function()
  return vim.lsp.get_client_by_id(client) == nil or vim.lsp.get_client_by_id(client).is_stopped()
end)
print(passed .. " passed, 0 failed")
vim.cmd("qall!")
