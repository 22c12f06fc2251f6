-- Requests random targets. Arguments: prefix, number of targets, seed.
local count, prefix = 1, ""
function init(arguments)
    prefix, count = arguments[1], tonumber(arguments[2])
    math.randomseed(tonumber(arguments[3]))
end
function request()
    return wrk.format(nil, prefix .. math.random(0, count - 1))
end
